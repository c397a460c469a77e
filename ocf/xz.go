package ocf

import (
	"github.com/ulikunitz/xz"
)

func (d *Decoder) xz(dst, src []byte) ([]byte, error) {
	d.src.Reset(src)
	r, err := xz.NewReader(&d.src)
	if err != nil {
		return dst, err
	}
	return d.readAll(dst, r)
}
