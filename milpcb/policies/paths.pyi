from policies.paths import *
