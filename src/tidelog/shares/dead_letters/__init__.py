"""Dead letters: where a share group's undeliverable records go, and the batches they are written in."""
