package cli

import (
	"bytes"
	"context"
	"io"
	"path"
	"strings"
	"sync"
	"text/template"

	"github.com/spf13/cobra"

	"github.com/rowtocol/rowtocol/store"
)

// manTemplate is a manual page. It keeps the line breaks of the help texts.
var manTemplate = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("man").Funcs(template.FuncMap{"text": roff, "upper": strings.ToUpper}).Parse(manText))
})

const manText = `.TH "{{upper .Name}}" "{{.Section}}" "{{.Date}}" "rowtocol {{text .Version}}" "rowtocol"
.SH NAME
{{text .Name}} \- {{text .Short}}
{{- range .Parts}}{{if .Text}}
.SH {{.Title}}
.nf
{{text .Text}}
.fi
{{- else if .Commands}}
.SH {{.Title}}
{{- range .Commands}}
.TP
\fB{{text .Name}}\fP
{{text .Short}}
{{- end}}
{{- end}}{{end}}
{{- if .SeeAlso}}
.SH SEE ALSO
{{range $i, $name := .SeeAlso}}{{if $i}}, {{end}}\fB{{text $name}}\fP{{end}}
{{- end}}
`

// manWidth fits terminals of 80 columns, because man indents the text.
const manWidth = 72

// part is a section of a manual page: a text or a list of commands. A part without both is left out.
type part struct {
	Title, Text string
	Commands    []*cobra.Command
}

// roff escapes a text so that troff prints it unchanged.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(strings.Trim(text, "\n"))
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}

func newManCommand(a *App) *cobra.Command {
	return &cobra.Command{
		Use:    "man DIR",
		Short:  "Write the manual pages into a directory",
		Hidden: true,
		Args:   a.Takes(cobra.ExactArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			dir, err := a.Resolve(args[0])
			if err != nil {
				return err
			}
			return a.writeMan(cmd.Context(), dir, a.program.Root())
		},
	}
}

// writeMan writes the pages of a command and of all subcommands that help shows.
func (a *App) writeMan(ctx context.Context, dir store.Location, cmd *cobra.Command) error {
	section := manSection(cmd)
	at := store.Location{Store: dir.Store, Path: path.Join(dir.Path, manName(cmd)+"."+section)}
	_, err := IsFree(ctx, at, true)
	if err != nil {
		return err
	}
	err = a.WriteFile(ctx, at, true, func(w io.Writer) error {
		_, err := w.Write(manPage(cmd))
		return err
	})
	if err != nil {
		return err
	}
	for _, c := range cmd.Commands() {
		if !c.Hidden && c.Name() != "help" {
			if err := a.writeMan(ctx, dir, c); err != nil {
				return err
			}
		}
	}
	return nil
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manSection returns 1 for commands and 7 for topics.
func manSection(cmd *cobra.Command) string {
	if cmd.IsAdditionalHelpTopicCommand() {
		return "7"
	}
	return "1"
}

// availableCommands returns the subcommands that help lists.
func availableCommands(cmd *cobra.Command) (all []*cobra.Command) {
	for _, c := range cmd.Commands() {
		if c.IsAvailableCommand() {
			all = append(all, c)
		}
	}
	return all
}

func manPage(cmd *cobra.Command) []byte {
	b := readBuild()
	cmd.InitDefaultHelpFlag()
	description := cmd.Long
	if description == "" {
		description = cmd.Short + "."
	}
	page := struct {
		Name, Section, Date, Version, Short string
		Parts                               []part
		SeeAlso                             []string
	}{Name: manName(cmd), Section: manSection(cmd), Version: b.Version, Short: cmd.Short}
	page.Date, _, _ = strings.Cut(b.Time, "T")
	page.Parts = []part{{Title: "DESCRIPTION", Text: description}}
	if page.Section == "1" {
		synopsis, commands := cmd.UseLine(), availableCommands(cmd)
		if len(commands) > 0 {
			synopsis = cmd.CommandPath() + " COMMAND [flags]"
		}
		page.Parts = []part{
			{Title: "SYNOPSIS", Text: synopsis},
			{Title: "DESCRIPTION", Text: description},
			{Title: "COMMANDS", Commands: commands},
			{Title: "OPTIONS", Text: cmd.LocalFlags().FlagUsagesWrapped(manWidth)},
			{Title: "COMMON OPTIONS", Text: cmd.InheritedFlags().FlagUsagesWrapped(manWidth)},
			{Title: "EXAMPLES", Text: cmd.Example},
		}
	}
	if cmd.HasParent() {
		page.SeeAlso = append(page.SeeAlso, manName(cmd.Parent())+"(1)")
	}
	for _, c := range cmd.Commands() {
		if !c.Hidden && c.Name() != "help" {
			page.SeeAlso = append(page.SeeAlso, manName(c)+"("+manSection(c)+")")
		}
	}
	var out bytes.Buffer
	if err := manTemplate().Execute(&out, page); err != nil {
		panic(err) // the template has fields that the page lacks
	}
	return out.Bytes()
}
