from policies.exports import *
