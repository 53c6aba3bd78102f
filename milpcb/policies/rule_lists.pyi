from policies.rule_lists import *
