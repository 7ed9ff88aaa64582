package cli

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	awsv1 "github.com/karpenter-go/karpenter/api/aws/v1"
	"github.com/karpenter-go/karpenter/engine/units"
	"github.com/karpenter-go/karpenter/internal/manifest"
	"github.com/karpenter-go/karpenter/internal/offline"
	"github.com/karpenter-go/karpenter/internal/report"
)

// input has the flags of commands that read manifests.
type input struct {
	files []string
	cataloguing
}

func (in *input) addFlags(c *cobra.Command) {
	c.Flags().StringArrayVarP(&in.files, "filename", "f", nil, filesUsage)
	in.cataloguing.addFlags(c)
}

// check returns an error if the flags are invalid.
func (in *input) check() error {
	if len(in.files) == 0 {
		return errNoFiles
	}
	return in.cataloguing.check()
}

// read returns a Case of the manifests, and writes warnings to stderr. It sets what is known of the controller in s.
func (in *input) read(cmd *cobra.Command, p *progress, s *solver) (*offline.Case, error) {
	c, _, _, err := in.readAll(cmd, p, s)
	return c, err
}

// readAll is like read, and also returns the manifests and the catalogue.
func (in *input) readAll(cmd *cobra.Command, p *progress, s *solver) (*offline.Case, *manifest.Set, *offline.Catalogue, error) {
	if len(in.files) > 0 {
		p.say("reading " + titleOf(in.files[0]))
	}
	set, err := manifest.Read(cmd.Context(), in.files, manifest.Options{Stdin: cmd.InOrStdin(), Legacy: converter{}})
	if err != nil {
		return nil, nil, nil, err
	}
	p.say("preparing " + units.Counted(set.Len(), "object"))
	catalogue, err := in.open(offline.RegionOf(manifest.Of[*corev1.Node](set), manifest.Of[*awsv1.EC2NodeClass](set)))
	if err != nil {
		return nil, nil, nil, err
	}
	if err := in.pay(catalogue, manifest.Of[*corev1.Node](set)); err != nil {
		return nil, nil, nil, err
	}
	told := s.meetManifests(set)
	c, err := offline.AssembleWithout(set, catalogue, time.Now(), s.off())
	if err != nil {
		return nil, nil, nil, err
	}
	if !s.allOfferings {
		c.Delta.Types = s.controller.withUnavailable(c.Delta.Types)
	}
	c.Spread.Constraints, c.DynamicResources = s.spread(), s.dynamicResources()
	p.pause()
	warn(cmd.ErrOrStderr(), slices.Concat(told, c.Warnings))
	return c, set, catalogue, nil
}

// titleOf returns the name of the file for messages.
func titleOf(file string) string {
	if file == manifest.Stdin {
		return "standard input"
	}
	return file
}

// off are the features that are known to be off in the controller.
func (s *solver) off() offline.Off {
	if !s.controller.known() {
		return offline.Off{}
	}
	gates := s.controller.gates()
	return offline.Off{Overlays: !gates.NodeOverlay, Buffers: !gates.CapacityBuffer, Static: !gates.StaticCapacity}
}

// dynamicResources reports whether DaemonSets whose pods have ResourceClaims count in the controller. By default they do not.
func (s *solver) dynamicResources() bool {
	return s.controller != nil && !s.controller.settings.IgnoreDRARequests
}

// maxWarnings is the maximum number of warnings that one call of warn prints.
const maxWarnings = 20

func warn(w io.Writer, warnings []string) {
	for _, text := range warnings[:min(len(warnings), maxWarnings)] {
		fmt.Fprintln(w, "warning:", text)
	}
	if more := len(warnings) - maxWarnings; more > 0 {
		fmt.Fprintf(w, "warning: ... and %d more\n", more)
	}
}

// output is the value of the flag -o.
type output string

const (
	asText output = "text"
	asJSON output = "json"
	asYAML output = "yaml"
)

func (o *output) addFlag(c *cobra.Command) {
	*o = asText
	c.Flags().StringVarP((*string)(o), "output", "o", string(asText), "Output format: text or json")
}

// addFlagWithYAML is addFlag for a command that prints YAML too.
func (o *output) addFlagWithYAML(c *cobra.Command) {
	*o = asText
	c.Flags().StringVarP((*string)(o), "output", "o", string(asText), "Output format: text, json or yaml")
}

func (o output) check() error {
	if o != asText && o != asJSON {
		return coded{exitUsage, fmt.Errorf("--output: unknown format %q, use text or json", string(o))}
	}
	return nil
}

// checkWithYAML is check for a command that prints YAML too.
func (o output) checkWithYAML() error {
	if o != asText && !o.encoded() {
		return coded{exitUsage, fmt.Errorf("--output: unknown format %q, use text, json or yaml", string(o))}
	}
	return nil
}

// encoded reports whether the output is JSON or YAML.
func (o output) encoded() bool { return o == asJSON || o == asYAML }

// encode writes v as JSON in one line, or as a document of YAML.
func (o output) encode(w io.Writer, v any) error {
	if o != asYAML {
		return printJSON(w, v)
	}
	text, err := yaml.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode as YAML: %w", err)
	}
	_, err = fmt.Fprintf(w, "---\n%s", text)
	return err
}

// An answer is the result of a command that only reads, as a value for JSON and as text.
type answer struct {
	value any
	text  func(report.Style) string
}

// of returns the answer with a longer text: notes about the controller first, and the source of its settings last. If
// the settings are not known, the answer is unchanged.
func (a answer) of(c *controllerState) answer {
	if !c.known() {
		return a
	}
	text := a.text
	a.text = func(s report.Style) string {
		var b strings.Builder
		for _, note := range c.notes() {
			b.WriteString(note + "\n")
		}
		return b.String() + text(s) + "\nsettings of the controller: " + c.source + "\n"
	}
	return a
}

// print writes an answer in the chosen format.
func (o output) print(cmd *cobra.Command, a answer) error {
	if o.encoded() {
		return o.encode(cmd.OutOrStdout(), a.value)
	}
	_, err := io.WriteString(cmd.OutOrStdout(), a.text(styleOf(cmd.OutOrStdout())))
	return err
}

// styleOf returns the style of output to w: with colour on a terminal, unless NO_COLOR is set.
func styleOf(w io.Writer) report.Style {
	return report.Style{Colour: isTerminal(w) && os.Getenv("NO_COLOR") == ""}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
