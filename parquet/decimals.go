package parquet

import (
	"math/big"

	"github.com/rowtocol/rowtocol/format/column"
	"github.com/rowtocol/rowtocol/format/damage"
)

// decimalRange is the range of decimals of some precision: unscaled, in two's complement.
type decimalRange struct{ least, most []byte }

func newDecimalRange(precision int) *decimalRange {
	most := new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(precision)), nil)
	most.Sub(most, big.NewInt(1))
	return &decimalRange{least: column.DecimalOf(new(big.Int).Neg(most)), most: column.DecimalOf(most)}
}

func (d *decimalRange) has(v []byte) bool {
	return compareSigned(v, d.least) >= 0 && compareSigned(v, d.most) <= 0
}

// invalidSize reports whether readers refuse a decimal because of its size.
func invalidSize(v []byte) bool { return len(v) == 0 || len(v) > maxDecimal }

// checkDecimals marks the job if the decimals of a page, which have the bounds b, are not all
// decimals of their type. Readers would refuse the whole column.
func (j *encodeJob) checkDecimals(b *textBounds) {
	if d := j.c.decimals; d != nil && (b.invalid || !d.has(b.min) || !d.has(b.max)) {
		j.invalid = true
	}
}

// invalidDecimal returns the error of the first decimal of the block that is not one of its type.
func (j *encodeJob) invalidDecimal() error {
	const help = "; with plain bytes in place of the decimal, --schema keeps it"
	d, data := j.c.decimals, j.block.Data
	for i := 0; len(data) > 0; i++ {
		v, rest, err := cutText(data)
		switch {
		case err != nil:
			return err
		case invalidSize(v):
			return &valueError{i, bad(damage.Unsupported, "a decimal of %d bytes; readers accept 1 to %d%s", len(v), maxDecimal, help)}
		case !d.has(v):
			return &valueError{i, bad(damage.Unsupported, "the decimal %#.40x has more digits than its precision, %d%s", v, j.c.Precision, help)}
		}
		data = rest
	}
	return errCut
}
