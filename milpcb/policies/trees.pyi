from policies.trees import *
