from policies.boxes import *
