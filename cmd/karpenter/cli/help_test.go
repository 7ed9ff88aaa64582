package cli

import (
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/karpenter-go/karpenter/internal/operator"
)

// Every command has a short and a long description and an example. Descriptions of commands begin with a verb and a capital
// letter.
func TestHelp(t *testing.T) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		path := c.CommandPath()
		if c.Long == "" || c.Example == "" {
			t.Errorf("%s has no long description or no example", path)
		}
		if !strings.HasPrefix(c.Short, strings.ToUpper(c.Short[:min(1, len(c.Short))])) || c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: the short description is %q, want a capital letter and no full stop", path, c.Short)
		}
		if !strings.HasSuffix(c.Long, ".") {
			t.Errorf("%s: the long description is no sentence: %q", path, c.Long)
		}
		for line := range strings.Lines(c.Long) {
			if len(line) > 121 {
				t.Errorf("%s: %d characters in a line: %s", path, len(line), line)
			}
		}
		for line := range strings.Lines(c.Example) {
			if !strings.HasPrefix(line, "  ") {
				t.Errorf("%s: the example is not indented: %q", path, line)
			}
		}
		if c.Name() != "controller" { // another test checks the settings
			c.LocalFlags().VisitAll(func(f *pflag.Flag) {
				if f.Name != "help" && (f.Usage == "" || !unicode.IsUpper(rune(f.Usage[0])) || strings.HasSuffix(f.Usage, ".")) {
					t.Errorf("%s --%s: the help is %q, want a capital letter and no full stop", path, f.Name, f.Usage)
				}
			})
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(New(operator.Version{}))
}
