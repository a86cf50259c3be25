def fit(X, y):
    return X, y
