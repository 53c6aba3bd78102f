from policies.monotone import *
