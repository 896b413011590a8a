def add(one: int, other: int) -> int:
    return one + other
