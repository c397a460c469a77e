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
Write text in single or double quotes, as suits the shell. If a condition has
no meaning, the error says what to write.

Name fields as in the schema, and fields of records with dots. Put back quotes
around a name that is not an identifier or is a word of the language.

  = == <> != < <= > >=   compare: numbers by value, exactly; text by its bytes
  between a and b        from a to b, both included; not between
  in (a, b)  in 1..9     one of several constants; an integer of a range
  is null  is not null   whether a value is missing; = null means the same
  is true  is not false  for booleans; never unknown
  like  ilike            text with %% for any text and _ for one character;
                         escape '!' makes !%% a percent sign; ilike ignores case
  contains startsWith    text in text; matches takes a regular expression
  endsWith matches
  and or not && || !     logic; a boolean field is a condition by itself. not
                         binds looser than comparisons, ! tighter
  'x' in tags            an item of an array of simple values
  any(list, true)        there are items
  any(list, condition)   an item meets the condition, which names only fields
                         of the item; # is the item itself. Items of a map have
                         a key and a value
  headers['k']           the value of a key of a map, null if there is none; the
                         last one if the key occurs twice
  pair.int               the value of one type of a union of several
  + - * / %% **           arithmetic with 64-bit integers, which wrap around, and
                         doubles, which / and ** give
  abs ceil floor round   functions of simple values
  int float min max
  string lower upper trim trimPrefix trimSuffix replace len indexOf lastIndexOf
  hasPrefix hasSuffix date now duration

Write constants so:

  'it''s'  "it's"        text; \n, \" and the like only in double quotes
  12  1.5  -1e3  0xff    numbers; 12.345 is a decimal for decimals, and for
                         float and double the nearest number of that type
  x'0aff'                bytes, for fields of type bytes and fixed
  true  false  null
  '2025-01-31'           dates and timestamps. A time of day may follow, after a
  DATE '2025-01-31'      T or a space, with a fraction of a second and a time
  TIMESTAMP '...'        zone; the default is UTC. A date is its midnight.
  now()                  Compare with now() - duration("24h"), for example
  '12:30:00'             times of day

An enum is the text of its symbol. A UUID is compared with its text. Dates,
times and timestamps also compare with the numbers that are stored. In
arithmetic they are these numbers, and days, milliseconds and microseconds do
not mix.

A comparison with a missing value is unknown, and so is its opposite: if x is
null, neither x = 1 nor x <> 1 nor not (x = 1) selects the row. in and not in
follow SQL too: not in (1, null) selects nothing. A missing array meets neither
any(...) nor not any(...). A result computed from null is null. Unlike in SQL,
x = null selects rows without x. NaN is unequal to everything and neither less
nor greater, so not (x < 1) selects it.

If convert --values names a column, its blocks are skipped when their first and
last values rule the condition out. This works for numbers, text, dates and
timestamps outside unions, arrays and maps. If the condition bounds the first
field of a key index that convert --index made, cat, head and stats find the
rows by it: see rowtocol help lookup.`

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

// conditionValue is the value of --where. An empty one is an error: a script with an empty
// variable does not mean all rows.
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

// drawn limits the characters of a condition's line that are shown.
const drawn = 72

// drawing returns the line of a condition with an error, and below it a caret at the
// place. It is empty for other errors.
func drawing(err error) string {
	e := (*where.Error)(nil)
	if !errors.As(err, &e) {
		return ""
	}
	line, at := e.Line()
	before, after := []rune(printable(line[:at])), []rune(printable(line[at:]))
	start, end := "", ""
	if len(before)+len(after) > drawn && len(before) > drawn/2 {
		start, before = "...", before[len(before)-drawn/2:]
	}
	if room := drawn - len(before); len(after) > room {
		after, end = after[:room], "..."
	}
	indent := strings.Repeat(" ", textWidth(start+string(before)))
	return "  " + start + string(before) + string(after) + end + "\n  " + indent + "^\n"
}
