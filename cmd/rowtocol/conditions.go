package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/dataset/where"
	"github.com/rowtocol/rowtocol/internal/cli"
)

const conditionsLong = `A condition selects rows for --where. You may write it in the words of SQL or
with the operators of C:

%s
Write text in single or double quotes, whichever suits the shell. If a condition
has no meaning, the error says what to write.

Name a field as in the schema, and a field of a record by its path with dots.
Put back quotes around a name that is not an identifier, or that is a word of
the language.

  = == <> != < <= > >=   compare numbers by value, exactly; text by its bytes
  between a and b        from a to b, both included; also not between
  in (a, b)  in 1..9     one of several constants; an integer of a range
  is null  is not null   whether a value is missing; x = null means x is null
  is true  is not false  test a boolean; the result is never unknown
  like  ilike            match a pattern, in which %% is any text and _ is one
                         character; with escape '!', !%% is a percent sign;
                         ilike ignores upper and lower case
  contains startsWith    whether a text has another text in it, at its start, or
  endsWith               at its end
  matches                match a regular expression
  and or not && || !     logic; a boolean field is a condition by itself; not
                         binds looser than comparisons, ! binds tighter
  'x' in tags            whether an array of simple values has this item
  any(list, true)        whether an array or a map has items
  any(list, condition)   whether an item meets a condition, which names only
                         fields of the item; # is the item itself. Items of a
                         map have a key and a value
  headers['k']           the value of key k of a map; null if the map has no key
                         k; the last value if k occurs twice
  pair.int               the value of one type of a union of several types
  + - * / %% **           arithmetic with 64-bit integers, which wrap around, and
                         with doubles; / and ** give doubles
  abs ceil floor round   functions of simple values
  int float min max
  string lower upper trim trimPrefix trimSuffix replace len indexOf lastIndexOf
  hasPrefix hasSuffix date now duration

Write constants so:

  'it''s'  "it's"        text; \n, \" and the like only in double quotes
  12  1.5  -1e3  0xff    numbers; 12.345 is exact for decimal fields, and the
                         nearest number of the type for float and double
  x'0aff'                bytes, for fields of type bytes and fixed
  true  false  null
  '2025-01-31'           dates and timestamps. After T or a space you may add a
  DATE '2025-01-31'      time of day, with a fraction of a second and a time
  TIMESTAMP '...'        zone (default UTC). A date alone means its midnight
  now()                  the present, as in now() - duration("24h")
  '12:30:00'             times of day

Compare an enum with the text of its symbol, and a UUID with its text. Dates,
times and timestamps can also be compared with the numbers that are stored. In
arithmetic they stand for these numbers, and days, milliseconds and microseconds
cannot be mixed.

A comparison with a missing value is unknown, and so is its opposite: if x is
null, neither x = 1 nor x <> 1 nor not (x = 1) selects the row. in and not in
follow SQL, too: not in (1, null) selects nothing. A row whose array is missing
is selected neither by any(...) nor by not any(...). A result computed from null
is null. Unlike in SQL, x = null selects rows without x. NaN is unequal to all
numbers, and neither less nor greater, so not (x < 1) selects NaN.

If convert --values names a column, a block of the column is skipped if its
first and last values show that no row meets the condition. This works for
numbers, text, dates and timestamps outside of unions, arrays and maps. In the
Parquet files of convert, pages of any column are skipped by their bounds and
nulls, and row groups by dictionaries and Bloom filters. If the condition
bounds the first field of a key index that convert --index made, cat, head and
stats find the rows by the index: see rowtocol help lookup.`

// conditionExamples are conditions on the messages of internal/mailgen.
var conditionExamples = []string{
	`score > 0.9 AND size IS NOT NULL`,
	`folder IN ('INBOX', 'SENT') OR lower(subject) LIKE '%urgent%'`,
	`date BETWEEN '2025-01-01' AND '2025-01-31T12:00:00Z' AND NOT seen`,
	`any(received, host = 'mx1.example.org' and protocol is null)`,
	`'me@example.org' in to && headers['User-Agent'] startsWith "mutt"`,
	`from matches "@(corp|uni)[.]" && 10 <= size % 100 < 20`,
}

// conditionsTopic is the help topic about the language of --where.
func conditionsTopic(*app) *cobra.Command {
	examples := ""
	for _, e := range conditionExamples {
		examples += "  " + e + "\n"
	}
	return &cobra.Command{Use: "conditions", Short: "The language of --where", Long: fmt.Sprintf(conditionsLong, examples)}
}

// conditionValue is the value of --where. An empty value is an error, because a script whose
// variable is empty by mistake would select all rows.
type conditionValue string

func (v *conditionValue) String() string { return string(*v) }

// Type implements pflag.Value.
func (*conditionValue) Type() string { return "condition" }

// Set implements pflag.Value.
func (v *conditionValue) Set(s string) error {
	//guard: rejects an empty condition
	if strings.TrimSpace(s) == "" {
		return errors.New("the condition is empty; leave --where out for all rows")
	}
	*v = conditionValue(s)
	return nil
}

// drawn is the most characters of a condition's line that are shown.
const drawn = 72

// drawing returns the line of a condition that has an error, and below it a caret at the
// place of the error. It returns "" for other errors.
func drawing(err error) string {
	e := (*where.Error)(nil)
	if !errors.As(err, &e) {
		return ""
	}
	line, at := e.Line()
	before, after := []rune(cli.Printable(line[:at])), []rune(cli.Printable(line[at:]))
	start, end := "", ""
	if len(before)+len(after) > drawn && len(before) > drawn/2 {
		start, before = "...", before[len(before)-drawn/2:]
	}
	if room := drawn - len(before); len(after) > room {
		after, end = after[:room], "..."
	}
	indent := strings.Repeat(" ", cli.TextWidth(start+string(before)))
	return "  " + start + string(before) + string(after) + end + "\n  " + indent + "^\n"
}
