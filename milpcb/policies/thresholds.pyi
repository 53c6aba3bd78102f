from policies.thresholds import *
