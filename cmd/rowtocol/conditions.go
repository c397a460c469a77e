package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/dataset/where"
)

const conditionsLong = `A condition selects rows for --where, in the words of SQL or the signs of C:

%s
Text stands in single or in double quotes, whichever the shell leaves to it.
What a condition cannot mean is an error that says what to write.

Fields are named as in the schema, through records with dots. A name that is no
identifier, or is a word of the language, stands in back quotes.

  = == <> != < <= > >=   compare: numbers by value, exactly; text by its bytes
  between a and b        from a to b, both included; not between
  in (a, b)  in 1..9     one of several constants; an integer of a range
  is null  is not null   whether a value is missing; = null means the same
  is true  is not false  of booleans; never unknown
  like  ilike            text with %% for any text and _ for one character;
                         escape '!' makes !%% a percent sign; ilike ignores case
  contains startsWith    text in text; matches takes a regular expression
  endsWith matches
  and or not && || !     logic; a boolean field is a condition by itself. not
                         is looser than comparisons, ! is tighter
  'x' in tags            an item of an array of simple values
  any(list, true)        there are items
  any(list, condition)   an item meets the condition, in which only fields of
                         the item are named, # being the item itself. Of a map
                         the items have a key and a value
  headers['k']           the value of a key of a map, null if there is none; of
                         a key that occurs twice the last
  pair.int               the value of one type of a union of several
  + - * / %% **           arithmetic with 64-bit integers, which wrap around, and
                         doubles, which / and ** give
  abs ceil floor round   functions of simple values
  int float min max
  string lower upper trim trimPrefix trimSuffix replace len indexOf lastIndexOf
  hasPrefix hasSuffix date now duration

Constants are written

  'it''s'  "it's"        text; \n, \" and the like only in double quotes
  12  1.5  -1e3  0xff    numbers; 12.345 is a decimal for decimals, and for
                         float and double the nearest number of that type
  x'0aff'                bytes, for fields of type bytes and fixed
  true  false  null
  '2025-01-31'           dates and timestamps, also with a time of day after a
  DATE '2025-01-31'      T or a space, a fraction of a second and a time zone,
  TIMESTAMP '...'        which is UTC if there is none. A date is its midnight.
  now()                  Compare with now() - duration("24h"), for example
  '12:30:00'             times of day

An enum is the text of its symbol. A UUID is compared with its text. Dates,
times and timestamps also compare with the numbers that are stored, and are such
in arithmetic, in which days, milliseconds and microseconds do not mix.

A comparison with a missing value is unknown, and so is its opposite: where x is
null, neither x = 1 nor x <> 1 nor not (x = 1) selects the row. in and not in
follow SQL too: not in (1, null) selects nothing. An array that is missing meets
neither any(...) nor not any(...). What is computed of null is null. Unlike in
SQL, x = null selects rows without x, and NaN is unequal to everything and
neither less nor greater, so that not (x < 1) selects it.

Blocks of a column that convert --values names are passed over if their first
and last values rule the condition out: of numbers, text, dates and timestamps
outside of unions, arrays and maps. cat, head and stats find rows by a key index
that convert --index made if the condition bounds its first field: see rowtocol
help lookup.`

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
func conditionsTopic() *cobra.Command {
	examples := ""
	for _, e := range conditionExamples {
		examples += "  " + e + "\n"
	}
	return &cobra.Command{Use: "conditions", Short: "What --where understands", Long: fmt.Sprintf(conditionsLong, examples)}
}

// conditionValue is the value of --where. An empty one would be no condition, which
// a script does not mean whose variable is empty.
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

// drawing shows the place of an error in a condition: its line, and below it a
// caret. It is empty for other errors.
func drawing(err error) string {
	e := (*where.Error)(nil)
	if !errors.As(err, &e) {
		return ""
	}
	line, at := e.Line()
	before, behind := []rune(printable(line[:at])), []rune(printable(line[at:]))
	start, end := "", ""
	if len(before)+len(behind) > drawn && len(before) > drawn/2 {
		start, before = "...", before[len(before)-drawn/2:]
	}
	if room := drawn - len(before); len(behind) > room {
		behind, end = behind[:room], "..."
	}
	indent := strings.Repeat(" ", textWidth(start+string(before)))
	return "  " + start + string(before) + string(behind) + end + "\n  " + indent + "^\n"
}
