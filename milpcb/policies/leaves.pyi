from policies.leaves import *
