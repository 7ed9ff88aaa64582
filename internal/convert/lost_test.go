package convert

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
	"golang.org/x/tools/txtar"
)

// inOtherWords matches fields whose value has another form in v1, and fields that only the API server writes.
var inOtherWords = regexp.MustCompile(strings.Join([]string{
	`(^|\.)apiVersion$`, `^kind$`, `^spec\.(provider\.)?(apiVersion|kind)$`,
	`^spec\.consolidation(\.enabled)?$`, `^spec\.ttlSeconds\w+$`, `\.consolidationPolicy$`,
	`nodeClassRef\.apiVersion$`, `^metadata\.(creationTimestamp|generation|resourceVersion|uid|managedFields.*)$`, `^status\.`,
	`last-applied-configuration`,
}, "|"))

// Each value of a manifest is in the output or in a warning. The manifests have the shapes of published ones.
func TestNothingIsLostInSilence(t *testing.T) {
	files, err := filepath.Glob("testdata/shapes/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	shapes := 0
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			shapes++
			t.Run(f.Name, func(t *testing.T) { lost(t, File{f.Name, f.Data}) })
		}
	}
	if shapes < 60 {
		t.Errorf("%d shapes, want at least 60", shapes)
	}
}

// The output and the warnings contain no word that represents an expression. That holds, too, if all files are
// converted together, and if they are damaged.
func TestNoWordForAnExpressionIsLeft(t *testing.T) {
	var all []File
	for _, archive := range goldens(t) {
		all = append(all, inputs(archive)...)
	}
	shapes, err := filepath.Glob("testdata/shapes/*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range shapes {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range archive.Files {
			all = append(all, File{f.Name, f.Data})
		}
	}
	slices.SortStableFunc(all, func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	rng := rand.New(rand.NewPCG(3, 4))
	for range 40 {
		var some []File
		for range 4 {
			f := all[rng.IntN(len(all))]
			text := string(f.Data)
			if rng.IntN(2) == 0 {
				text = damage(rng, strings.Split(text, "\n"))
			}
			some = append(some, File{fmt.Sprint(len(some), f.Name), []byte(text)})
		}
		noWord(t, some, Options{Unchecked: true})
	}
	noWord(t, all, Options{})
}

func noWord(t *testing.T, files []File, o Options) {
	t.Helper()
	r, err := Convert(files, o)
	text := fmt.Sprint(err) + string(r.Text())
	for _, w := range r.Warnings {
		text += w.String() + "\n"
	}
	for line := range strings.Lines(text) {
		if strings.Contains(line, "karptpl") {
			t.Errorf("a word for an expression is left: %s", line)
		}
	}
}

// The value that a warning quotes is complete: parsed, it equals the removed value.
func TestQuotedValuesAreComplete(t *testing.T) {
	for _, in := range []string{
		"{a: [1, two, {b: null}]}", `"two  spaces"`, `"` + strings.Repeat("long ", 500) + `"`, "a: |\n  line  one\n\n  line two\n",
		"a: >\n  folded\n  text\n", "'it''s: # no comment'", "a: # comment\n  - b\n", "{nodefs.available: 10%, x: \"y, z\"}", "plain\n  on two lines",
	} {
		n, err := parse(in)
		if err != nil {
			t.Fatal(err)
		}
		out := brief(n.Content[0])
		back, err := parse(out)
		if err != nil || !equal(n.Content[0], back.Content[0]) || strings.Contains(out, "\n") {
			t.Errorf("%q is quoted as %q: %v", in, out, err)
		}
	}
}

// separator matches the line between documents.
var separator = regexp.MustCompile(`(?m)^---$`)

// lost reports the values of a file that are neither in the output nor in a warning.
func lost(t *testing.T, in File) {
	r, err := Convert([]File{in}, Options{})
	if err != nil {
		if !strings.Contains(err.Error(), in.Name) {
			t.Errorf("the error does not name the file: %v", err)
		}
		t.Logf("refused: %v", err)
		return
	}
	out := string(r.Text())
	defer func() {
		if t.Failed() {
			t.Logf("%s\n%v", out, r.Warnings)
		}
	}()
	for _, part := range separator.Split(out, -1) {
		var root any
		if yaml.Unmarshal([]byte(part), &root) == nil {
			leaves(root, "", func(_, value string) { out += "\n" + value })
		}
	}
	var warned strings.Builder
	for _, w := range r.Warnings {
		warned.WriteString(w.String() + "\n")
	}
	if again, err := Convert([]File{{in.Name, r.Text()}}, Options{}); err != nil || again.Converted != 0 {
		t.Errorf("what came out is converted again: %v", err)
	}
	for _, part := range separator.Split(string(in.Data), -1) {
		var root any
		if yaml.Unmarshal([]byte(part), &root) != nil {
			words(t, part, out, warned.String())
			continue
		}
		leaves(root, "", func(path, value string) {
			// Values separated by commas were alternatives. In v1, each is a separate value.
			for _, one := range strings.Split(value, ",") {
				if one = strings.TrimSpace(one); !inOtherWords.MatchString(path) && !strings.Contains(out, one) && !named(path, one, r.Warnings) {
					t.Errorf("%s: %q is lost", path, one)
				}
			}
		})
	}
}

// words checks a template that is not valid YAML: each of its words is in the output or in a warning.
func words(t *testing.T, in, out, warned string) {
	t.Helper()
	for _, word := range regexp.MustCompile(`[A-Za-z][\w.$/-]{2,}`).FindAllString(in, -1) {
		if known := oldWords.MatchString(word); !known && !strings.Contains(out, word) && !strings.Contains(warned, word) {
			t.Errorf("%q is lost", word)
		}
	}
}

// oldWords matches names of the old API that have another name in v1.
var oldWords = regexp.MustCompile(`v1alpha5|v1alpha1|v1beta1|Provisioner|AWSNodeTemplate|providerRef|ttlSeconds\w+|resources|consolidation|enabled|WhenUnderutilized|nindent|toYaml|true`)

// named reports whether a warning is about the field or an enclosing field, or contains the value.
func named(path, value string, warnings []Warning) bool {
	for _, w := range warnings {
		if w.Field != "" && (strings.HasPrefix(path, w.Field) || strings.HasPrefix(w.Field, path)) {
			return true
		}
		if strings.Contains(w.Text, value) {
			return true
		}
	}
	return false
}

// leaves calls visit for every scalar below a value, with its path in the notation of warnings.
func leaves(v any, path string, visit func(path, value string)) {
	switch v := v.(type) {
	case map[string]any:
		for key, child := range v {
			at := strings.TrimPrefix(path+"."+key, ".")
			if strings.ContainsAny(key, "./") {
				at = path + "[" + key + "]"
			}
			leaves(child, at, visit)
		}
	case []any:
		for i, child := range v {
			leaves(child, fmt.Sprintf("%s[%d]", path, i), visit)
		}
	case nil:
	default:
		visit(path, fmt.Sprint(v))
	}
}
