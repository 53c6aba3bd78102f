"""The paper's theorems by computation: the proofs on small games exactly, and Rel(empty) of one class by sampling."""
