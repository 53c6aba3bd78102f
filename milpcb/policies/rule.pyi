from policies.rule import *
