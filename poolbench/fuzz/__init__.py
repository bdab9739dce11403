"""Random scenarios on which the model is held to the hardware."""
