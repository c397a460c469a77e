package publish

import (
	"context"
	"errors"

	"github.com/rowtocol/rowtocol/job/manifest"
	"github.com/rowtocol/rowtocol/store"
)

// Inputs are the inputs of outputs, each of which owns its own by its name.
func Inputs(outputs []Committed) *manifest.Known {
	known := manifest.NewKnown()
	for _, o := range outputs {
		for _, in := range o.Success.Request.Inputs {
			known.Add(o.Name, in)
		}
	}
	return known
}

// KnownInputs are files that earlier surveys for this destination read whole. What
// cannot be read is not known.
func (d *Destination) KnownInputs(ctx context.Context) *manifest.Known {
	info, err := d.entry(ctx, manifest.InputsName)
	if err != nil {
		return manifest.NewKnown()
	}
	//guard: follows a link to what others wrote
	if info.Link {
		return manifest.NewKnown()
	}
	text, err := d.st.ReadFile(ctx, info.Path, manifest.MaxSize)
	if err != nil {
		return manifest.NewKnown()
	}
	doc, err := manifest.DecodeInputs(text)
	if err != nil {
		return manifest.NewKnown()
	}
	return manifest.NewKnown(doc.Inputs...)
}

// KeepInputs keeps files that a survey read whole for later ones. It needs no lock: of
// two documents either will do, and without one files are read again.
func (d *Destination) KeepInputs(ctx context.Context, inputs []manifest.Input) error {
	doc := manifest.Inputs{Version: manifest.Version, Inputs: inputs}
	text, err := doc.Encode()
	if err != nil {
		return err
	}
	err = d.st.WriteFile(ctx, d.in(manifest.InputsName), text, false)
	if errors.Is(err, store.ErrNoParent) || errors.Is(err, store.ErrNotExist) {
		return nil // a destination that does not exist keeps nothing
	}
	return err
}
