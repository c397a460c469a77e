package manifest

import "testing"

func TestTypeOf(t *testing.T) {
	for _, tt := range []struct {
		values []Key
		want   KeyType
	}{
		{nil, KeyText},
		{[]Key{{Null: true}}, KeyText},
		{[]Key{{Value: "7"}, {Null: true}, {Value: "-12"}}, KeyLong},
		{[]Key{{Value: "7"}, {Value: "+7"}}, KeyText},
		{[]Key{{Value: "9223372036854775808"}}, KeyText},
		{[]Key{{Value: "2026-01-31"}, {Value: "1969-12-31"}}, KeyDate},
		{[]Key{{Value: "2026-01-31"}, {Value: "2026-02-30"}}, KeyText},
		{[]Key{{Value: "2026-01-31"}, {Value: "7"}}, KeyText},
	} {
		if got := TypeOf(tt.values); got != tt.want {
			t.Errorf("%v: type %d, want %d", tt.values, got, tt.want)
		}
	}
	if days, ok := (&Key{Value: "1969-12-31"}).Date(); days != -1 || !ok {
		t.Errorf("%d days, %v", days, ok)
	}
}
