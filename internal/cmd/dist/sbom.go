package main

import (
	"debug/buildinfo"
	"errors"
	"os"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

// writeSBOM writes a CycloneDX document that lists the modules of a program, by the build
// information in it. The document has no serial number and no time, so that it only
// depends on the program.
func writeSBOM(name, program, version string) (err error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	self := component(cyclonedx.ComponentTypeApplication, info.Main.Path, "v"+version)
	parts := []cyclonedx.Component{component(cyclonedx.ComponentTypeLibrary, "std", strings.TrimPrefix(info.GoVersion, "go"))}
	for _, m := range info.Deps {
		parts = append(parts, component(cyclonedx.ComponentTypeLibrary, m.Path, m.Version))
	}
	refs := make([]string, len(parts))
	for i, p := range parts {
		refs[i] = p.BOMRef
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &self}
	bom.Components = &parts
	bom.Dependencies = &[]cyclonedx.Dependency{{Ref: self.BOMRef, Dependencies: &refs}}
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return cyclonedx.NewBOMEncoder(f, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
}

// component describes a module. Package URLs escape +.
func component(kind cyclonedx.ComponentType, path, version string) cyclonedx.Component {
	url := "pkg:golang/" + path + "@" + strings.ReplaceAll(version, "+", "%2B")
	return cyclonedx.Component{Type: kind, BOMRef: url, Name: path, Version: version, PackageURL: url}
}
