"""The paper's theorems by computation: their proofs, exactly, on small games."""
