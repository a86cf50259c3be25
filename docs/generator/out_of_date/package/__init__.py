_NAMES = {"fit": "fitting"}
