"""The compiled loops of the predictors: integers in, tables of units and of their meetings out."""
