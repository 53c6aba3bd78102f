from policies.halfspaces import *
