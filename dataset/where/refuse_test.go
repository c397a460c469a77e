package where_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rowtocol/rowtocol/dataset/where"
)

// The error of an invalid condition has its place and says what to write.
func TestRefusals(t *testing.T) {
	for text, want := range map[string]struct {
		column int
		reason string
	}{
		"":                                    {1, "ends here, and a field or a value is missing"},
		"l ==":                                {5, "ends here, and a field or a value is missing"},
		"(l == 1":                             {8, "ends here, and ) is missing"},
		"l == 1 b":                            {8, "the name b is not expected here, but and, or"},
		"l is 1":                              {6, "1 is not expected here, but null, true or false"},
		"l is true":                           {6, "cannot be compared with a boolean"},
		"l == 1 --2":                          {8, "no comments"},
		"l == 1 /* x */":                      {8, "no comments"},
		"l == 1 // x":                         {8, "no comments"},
		"l::int == 1":                         {2, "leave the cast out"},
		"s ~ 'x'":                             {3, "write matches"},
		"WHERE l = 1":                         {1, "leave WHERE out"},
		"# l":                                 {3, "the name l is not expected"},
		"clock > TIME '12:30:00'":             {9, "leave TIME out"},
		"day + 1 < ms":                        {1, "day + 1 counts days and ms milliseconds; write (day + 1) * 86400000"},
		"ms > day + 1":                        {6, "day + 1 counts days and ms milliseconds; write (day + 1) * 86400000"},
		"day = 2025-01-31":                    {7, "is a subtraction; write '2025-01-31'"},
		"ms in (0, 2025-1-31)":                {11, "is a subtraction"},
		"ms between 2025-01 and 2025-02":      {12, "is a subtraction; write '2025-01-01'"},
		"day >= 20250131":                     {8, "counts days since 1970; write '2025-01-31'"},
		"local - ms > 0":                      {9, "ms counts milliseconds and local microseconds; write (ms) * 1000"},
		"max(ms, day) > 0":                    {9, "(day) * 86400000"},
		"-local > abs(ms)":                    {10, "milliseconds and -local microseconds"},
		"i = max(i)":                          {5, "max takes several values of a row"},
		"starts_with(s, 'x')":                 {1, "write x startsWith"},
		"cast(l as int) = 1":                  {1, "changes no types"},
		"isnan(d)":                            {1, "write x <> x"},
		"d = 'NaN'":                           {5, "write x <> x"},
		"d > Infinity":                        {5, "e308"},
		"ms > current_date":                   {6, "write now()"},
		`ms > now() - duration("1d")`:         {14, `write duration("90m")`},
		"len(tags) > 1":                       {1, "any(tags, true)"},
		"tags = 'x'":                          {1, "write 'x' in tags, or any(tags, # == 'x')"},
		"'k' in m":                            {8, "write any(m, key = 'k')"},
		"e = 1":                               {5, "its symbols are RED, GREEN"},
		"l == 1;":                             {7, "no semicolon"},
		"l | 1":                               {3, "write and, or"},
		"l ? 1":                               {3, "is not part of the language"},
		"s = 'x":                              {5, "closing ' is missing"},
		`s = "x`:                              {5, `closing " is missing`},
		`s = "\q"`:                            {6, "escape is unknown"},
		"l = 1x":                              {5, "1x is not a number"},
		"l = 1e":                              {5, "1e is not a number"},
		"l = 1e2x":                            {5, "1e2x is not a number"},
		"l = 1e9999":                          {5, "exponent"},
		"l = " + strings.Repeat("1", 2000):    {5, "at most 1024"},
		"l = 0xfffffffffffffffff":             {5, "not a number of 64 bits"},
		"l = 1e-9999":                         {5, "exponent"},
		"l = 1e99999999999999999999":          {5, "exponent"},
		"y = x'0'":                            {5, "pairs of hexadecimal digits"},
		"l":                                   {1, "is an integer and not a condition; compare it"},
		"null":                                {1, "null is not a condition"},
		"'x'":                                 {1, "is a text and not a condition"},
		`"b"`:                                 {1, `"b" in double quotes is a text`},
		"nothing == 1":                        {1, "there is no field nothing"},
		"ll == 1":                             {1, "did you mean l?"},
		"x == 1":                              {1, "did you mean r.x"},
		"`x-z` == 1":                          {1, "did you mean `x-y`"},
		"b and\nso == 1":                      {1, "did you mean"},
		"l.l == 1":                            {1, "is of a simple type"},
		"a == 1":                              {1, "write 'x' in a, or any(a, # == 'x')"},
		"hops == 1":                           {1, "write any(hops, ...)"},
		"hops.host == 'x'":                    {1, "write any(hops, host == ...)"},
		"m == 1":                              {1, "write m['key']"},
		"m.k == 1":                            {1, "write m['k']"},
		"a['k'] == 1":                         {1, "is an array and has no keys"},
		"l['k'] == 1":                         {1, "is not a map"},
		"m['k']['j'] == 1":                    {1, "is not a map"},
		"any(l, # = 1)":                       {5, "is neither an array nor a map"},
		"any(1, # = 1)":                       {5, "any takes the name of an array"},
		"any(a)":                              {6, "but ,"},
		"any(hops, l = 1)":                    {11, "only fields of the item can be named"},
		"any(m, k = 1)":                       {8, "a key and a value"},
		"l in a":                              {1, "write a constant"},
		"1 in l":                              {6, "is not an array"},
		"'x' in a":                            {1, "cannot be compared with a text"},
		"u == 1":                              {1, "name one of them: u.int or u.string"},
		"u.long == 1":                         {1, "name one of them"},
		"r == 1":                              {1, "name a field of it, such as r.x or r.ox"},
		`l == "x"`:                            {6, "l is an integer and cannot be compared with a text"},
		`l == "12"`:                           {6, "write 12 without quotes"},
		`l == "s"`:                            {6, `"s" in double quotes is a text; for the field write s`},
		`"s" == 'x'`:                          {1, `"s" in double quotes is a text; for the field write s`},
		`"x" == 'x'`:                          {1, "two constants"},
		"1 = 1":                               {1, "two constants"},
		"null = null":                         {1, "two constants"},
		"s == 1":                              {6, "a text and cannot be compared with an integer; write '1'"},
		"y == 'x'":                            {6, "write x'0aff'"},
		"y like 'x'":                          {8, "write x'0aff'"},
		"y like x'00'":                        {1, "searches text"},
		"l like '1%'":                         {1, "searches text, and l is an integer"},
		"s like os":                           {8, "must be a constant"},
		"s like 'x!' escape '!'":              {8, "ends with its escape character"},
		"s like 'x' escape 'ab'":              {19, "one character"},
		"s contains 1":                        {12, "takes a text"},
		"e = 'GREN'":                          {5, "did you mean 'GREEN'"},
		"e = 'PURPLE'":                        {5, "its symbols are RED, GREEN"},
		"e in ('RED', 'x')":                   {14, "has no symbol"},
		`e = "s"`:                             {5, "in double quotes is a text"},
		"b < true":                            {5, "only equal or unequal"},
		"b < ob":                              {1, "only equal or unequal"},
		"b = 1":                               {5, "write true or false"},
		"dec = '1.5'":                         {7, "write 1.5 without quotes"},
		"dec + 1 > 2":                         {1, "only compared"},
		"d < 1e999":                           {5, "beyond the numbers"},
		"ms > 'yesterday'":                    {6, "'yesterday' is not a date; write '2025-01-31'"},
		"ms > '2025-02-30'":                   {6, "is not a date"},
		`ms = "l"`:                            {6, "in double quotes is a text"},
		"ms = s":                              {6, "cannot be compared with a text"},
		"ms = clock":                          {6, "cannot be compared with a time of day"},
		"ms = local":                          {6, "has a time zone"},
		"local = '2025-01-01T00:00:00Z'":      {9, "write the time without one"},
		"clock = 'noon'":                      {9, "write '12:30:00'"},
		"l > DATE '2025'":                     {10, "is not a date; write DATE '2025-01-31'"},
		"l > date(\"2025-01-01\")":            {5, "such as 1735689600000"},
		`l > date("x")`:                       {5, "cannot be computed; write date("},
		"uid = 'x'":                           {7, "is a UUID; 'x' is not"},
		`s matches "("`:                       {11, "is not a regular expression: missing closing )"},
		"s matches os":                        {11, "must be a constant"},
		"i in [l]":                            {7, "is not a constant"},
		"i in l":                              {6, "l is not an array"},
		"i in 5":                              {6, "in takes a list"},
		"i in 1..l":                           {9, "two constant integers"},
		"s in 1..2":                           {1, "only an integer or"},
		"1 in (1)":                            {1, "write a field"},
		`"s" in ('a')`:                        {1, "for the field write s"},
		`"s" like 'a%'`:                       {1, "for the field write s"},
		`"s" is null`:                         {1, "for the field write s"},
		`"i" between 1 and 2`:                 {1, "for the field write i"},
		"i < null":                            {5, "write i is null"},
		"i between null and 2":                {11, "write i is null"},
		"n = 1":                               {1, "never has a value"},
		"n + 1 == 1":                          {1, "never has a value"},
		"null + l == 1":                       {1, "no value to compute with"},
		"i == 1 == 2":                         {3, "two values at a time"},
		"i in (1) == b":                       {10, "in parentheses"},
		"(i = 1) = (i = 2)":                   {1, "compared with true and false"},
		"(i = 1) + 1 = 2":                     {1, "this is a condition, but a value"},
		"(i = 1) is null":                     {1, "compared with true and false"},
		"s not 1":                             {7, "but in, between, like"},
		"and = 1":                             {1, "is a keyword"},
		"let x = 1":                           {5, "the name x is not expected"},
		"s * 2 == 1":                          {1, "* does not take a text and an integer"},
		"lower(i) = 'x'":                      {1, "lower does not take an integer"},
		"lower() = s":                         {1, "lower does not take nothing"},
		"shout(s) == 1":                       {1, "there is no function shout"},
		"date(s) > 1":                         {1, "takes constants only"},
		"duration(\"1h\") < l":                {1, "is a duration"},
		"$env.l = 1":                          {5, "in brackets"},
		"a[1] = 1":                            {3, "any("},
		strings.Repeat("(", 20000):            {251, "deeper than 250 levels"},
		strings.Repeat("!", 20000) + "b":      {250, "deeper than 250 levels"},
		strings.Repeat("not ", 20000) + "b":   {997, "deeper than 250 levels"},
		"l = 1" + strings.Repeat("+1", 20000): {5, "deeper than 250 levels"},
		strings.Repeat(" ", 1<<21):            {1, "at most 1048576 are read"},
	} {
		_, err := eval(t, text)
		var e *where.Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), want.reason) || strings.ContainsAny(err.Error(), "\n\r\x1b") {
			t.Errorf("%.80s: %v, want %s", text, err, want.reason)
			continue
		}
		if column := fmt.Sprintf("character %d:", want.column); !strings.Contains(err.Error(), column) {
			t.Errorf("%.80s: %v, want %s", text, err, column)
		}
	}
}

// TestPlaces checks that errors name the line of their place, and the character in the line.
func TestPlaces(t *testing.T) {
	for text, want := range map[string]string{
		"b and\n  x-y = 1\nor b": "line 2, character 3:   x-y = 1",
		"s = 'üü' and\tlll = 1":  "character 14: s = 'üü' and\tlll = 1",
		"s = 'x\ny' and lll = 1": "line 2, character 8: y' and lll = 1",
		"`l\x1b[31m` = 1":        "character 1: `l\x1b[31m` = 1",
	} {
		_, err := eval(t, text)
		var e *where.Error
		if !errors.As(err, &e) || strings.ContainsAny(err.Error(), "\n\x1b") {
			t.Fatal(err)
		}
		place, line, _ := strings.Cut(want, ": ")
		if got, at := e.Line(); got != line || at > len(line) || !strings.HasPrefix(err.Error(), "condition, "+place+": ") {
			t.Errorf("%q: %v in %q", text, err, got)
		}
	}
}
