package where

// alternative returns what to write for a function of SQL, or of an SQL engine, that
// conditions do not have. name is in lower case. For other names it returns "".
func alternative(function string) string {
	switch function {
	case "starts_with", "startswith":
		return "write x startsWith 'a'"
	case "ends_with", "endswith":
		return "write x endsWith 'a'"
	case "contains", "position", "strpos", "instr", "charindex":
		return "write x contains 'a'"
	case "regexp_matches", "regexp_like", "regexp_contains", "rlike":
		return "write x matches 'a'"
	case "substr", "substring", "left", "right":
		return "write x like '__a%', in which _ is any character"
	case "isnan", "is_nan":
		return isNaN
	case "isnull":
		return "write x is null"
	case "coalesce", "ifnull", "nvl":
		return "write x is null or x = 1"
	case "cast", "try_cast":
		return "a condition changes no types; compare the field as it is"
	case "year", "month", "day", "extract", "date_part", "date_trunc":
		return "write x between '2025-01-01' and '2025-12-31'"
	case "to_date", "to_timestamp", "timestamp":
		return "write '2025-01-31' as it is"
	case "list_contains", "array_contains", "exists", "some":
		return "write 'x' in list, or any(list, ...) with a condition on an item"
	case "map_contains", "map_contains_key":
		return "write any(map, key = 'x')"
	case "all", "every":
		return "write not any(list, not (...))"
	case "none":
		return "write not any(list, ...)"
	case "sum", "avg", "mean", "count":
		return "rowtocol stats and count sum up rows"
	case "char_length", "character_length", "octet_length", "strlen":
		return "write len(x)"
	}
	return ""
}

const (
	isNaN      = "write x <> x, which holds for NaN alone"
	isInfinity = "write x > 1.7976931348623157e308"
)

// constantAlternative is alternative for names of constants.
func constantAlternative(name string) string {
	switch name {
	case "current_date", "current_timestamp":
		return "write now()"
	case "nan":
		return isNaN
	case "inf", "infinity":
		return isInfinity
	}
	return ""
}
