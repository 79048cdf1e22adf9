# Tests of policies, proposers and job files.
