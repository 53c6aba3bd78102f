from policies.listed import *
