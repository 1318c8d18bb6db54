"""WHAT IS WRONG AND WHY: findings, made from the witnesses of checkers; their explanation as data, then in words."""
