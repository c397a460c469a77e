package main

import (
	"fmt"

	"github.com/spf13/cobra"
)

const conditionsLong = `A condition selects rows for --where. It names fields as the schema does,
through records with dots:

%s
A field has a simple type, or is a union of null and one; what is in arrays,
maps and other unions cannot be named. $env["odd-name"] is a field whose name is
no identifier, or is a word of the language.

  == != < <= > >=        numbers by value, exactly; text by its bytes; booleans
                         are only equal or unequal. NaN is unequal to all.
  in [a, b]  in 1..9     one of several constants; an integer of a range
  contains startsWith    text in text; matches takes a regular expression
  endsWith matches
  && || ! and or not     logic; a boolean field is a condition by itself
  + - * / %% **           arithmetic with 64-bit integers, which wrap around, and
                         doubles, which / and ** give
  abs ceil floor round   functions of simple values
  int float min max
  string lower upper trim trimPrefix trimSuffix replace len indexOf lastIndexOf
  hasPrefix hasSuffix

Where a value is null, x == null holds and every other comparison is false; so
are !=, in, contains and their like. not turns that around: not (x == 1) holds
where x is null, x != 1 does not. What is computed of null is null.

Enums compare as the text of their symbols, bytes and fixed as text, dates and
timestamps with date("2025-01-31") or date("2025-01-31T12:00:00Z"), or as the
numbers that are stored. Decimals compare only with null.

Integers, floating-point numbers and text of a column that convert --values
names, and that ascends, are looked up by their blocks' first values.`

// conditionExamples are conditions on the messages of internal/mailgen.
var conditionExamples = []string{
	`score > 0.9 && size != null`,
	`folder in ["INBOX", "SENT"] || lower(subject) contains "urgent"`,
	`date >= date("2025-01-01") && not seen`,
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
