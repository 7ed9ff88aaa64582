package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/karpenter-go/karpenter/internal/operator/settings"
	"github.com/karpenter-go/karpenter/provider/aws"
	"github.com/karpenter-go/karpenter/provider/clusterapi"
	"github.com/karpenter-go/karpenter/provider/remote"
)

// The comment of each setting in the chart begins with the help text of its flag. More text may follow.
func TestValuesHaveTheHelpOfTheFlags(t *testing.T) {
	fs := pflag.NewFlagSet("test", pflag.ContinueOnError)
	settings.AddFlags(fs)
	aws.AddFlags(fs)
	clusterapi.AddFlags(fs)
	remote.AddFlags(fs)
	help := map[string]string{}
	fs.VisitAll(func(f *pflag.Flag) {
		usage, _ := splitUsage(f.Usage)
		help[strings.ReplaceAll(f.Name, "-", "")] = usage
	})
	text, err := os.ReadFile("../../charts/karpenter/values.yaml")
	if err != nil {
		t.Fatal(err)
	}
	comments := settingComments(string(text))
	if len(comments) < 20 {
		t.Fatalf("found comments of %d settings only", len(comments))
	}
	delete(comments, "enableDRA")           // it has no flag: it sets two gates
	delete(comments, "providerNodeClasses") // nor has this one: it grants permissions
	for key, comment := range comments {
		if usage := help[strings.ToLower(key)]; usage == "" || !strings.HasPrefix(comment, usage+".") {
			t.Errorf("settings.%s: the comment is %q, the help of its flag %q", key, comment, usage)
		}
	}
}

var (
	settingKey  = regexp.MustCompile(`^  ([A-Za-z]+): \S`)
	commentLine = regexp.MustCompile(`^  # (?:-- )?(.*)$`)
)

// settingComments returns the comments of the scalar keys under settings.
func settingComments(values string) map[string]string {
	_, text, _ := strings.Cut(values, "\nsettings:\n")
	comments, comment := map[string]string{}, []string(nil)
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line != "" && !strings.HasPrefix(line, " ") {
			break // a line without indentation ends the section
		}
		if m := commentLine.FindStringSubmatch(line); m != nil {
			comment = append(comment, m[1])
			continue
		}
		if m := settingKey.FindStringSubmatch(line); m != nil {
			comments[m[1]] = strings.Join(comment, " ")
		}
		comment = nil
	}
	return comments
}
