from policies.linear import *
