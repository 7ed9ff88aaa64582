package wire

import (
	"fmt"
	"net/url"
	"path"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func form(t *testing.T, query string) Form {
	t.Helper()
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	return NewForm(values)
}

func TestFormLists(t *testing.T) {
	f := form(t, "Id.2=b&Id.10=c&Id.1=a&Id.x=no&Tag.1.Key=k&Tag.1.Value=v&Tag.3.Key=k3&Other=1")
	if diff := cmp.Diff([]string{"a", "b", "c"}, f.List("Id")); diff != "" {
		t.Errorf("List differs (-want +got):\n%s", diff)
	}
	var keys []string
	for _, tag := range f.Each("Tag") {
		keys = append(keys, tag.String("Key")+"="+tag.String("Value"))
	}
	if diff := cmp.Diff([]string{"k=v", "k3="}, keys); diff != "" {
		t.Errorf("Each differs (-want +got):\n%s", diff)
	}
	if !f.Has("Tag") || f.Has("Ta") || !f.Has("Other") {
		t.Error("Has must see keys and parts, and no prefixes of names")
	}
}

func TestFormMalformed(t *testing.T) {
	f := form(t, "A.N=x&B=yes&C=2026-01-02T03:04:05Z&D=12&E=1.5")
	if f.Time("C").Year() != 2026 || f.Int("D") != 12 || f.Float("E") != 1.5 || f.Int("None") != 0 || f.Bool("None") {
		t.Error("good values are read wrong")
	}
	if err := f.Err(); err != nil {
		t.Fatalf("good values give %v", err)
	}
	f.Sub("A").Int("N")
	f.Bool("B")
	err := f.Err()
	if err == nil || err.Code != "InvalidParameterValue" || err.Message != "Value (x) for parameter A.N is invalid." {
		t.Errorf("error is %v, want InvalidParameterValue naming A.N", err)
	}
}

func TestMatch(t *testing.T) {
	for _, tt := range []struct {
		pattern, text string
		want          bool
	}{
		{"", "", true},
		{"*", "", true},
		{"*", "anything", true},
		{"m5.*", "m5.large", true},
		{"m5.*", "m5d.large", false},
		{"m?.large", "m5.large", true},
		{"m?.large", "m55.large", false},
		{"*a*b", "xaab", true},
		{"*a*b", "xaabc", false},
		{`a\*`, "a*", true},
		{`a\*`, "ab", false},
		{"Large", "large", false},
		{"a", "", false},
		{"", "a", false},
	} {
		if got := Match(tt.pattern, tt.text); got != tt.want {
			t.Errorf("Match(%q, %q) = %v, want %v", tt.pattern, tt.text, got, tt.want)
		}
	}
}

// On text without slashes, path.Match treats * and ? in the same way.
func TestMatchAgreesWithPathMatch(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		pattern := rapid.StringMatching(`[ab*?]{0,6}`).Draw(t, "pattern")
		text := rapid.StringMatching(`[ab]{0,8}`).Draw(t, "text")
		want, err := path.Match(pattern, text)
		if err != nil {
			t.Fatal(err)
		}
		if got := Match(pattern, text); got != want {
			t.Fatalf("Match(%q, %q) = %v, want %v", pattern, text, got, want)
		}
	})
}

func TestKeep(t *testing.T) {
	type item struct {
		name string
		tags map[string]string
	}
	items := []item{{"a", map[string]string{"k": "v"}}, {"b", map[string]string{"k": "w"}}, {"c", nil}}
	lookup := func(i item) Lookup {
		return func(name string) ([]string, bool) {
			if name == "name" {
				return []string{i.name}, true
			}
			return TagLookup(i.tags, name)
		}
	}
	for _, tt := range []struct {
		name  string
		query string
		want  string
		code  string
	}{
		{"none", "", "abc", ""},
		{"or inside a filter", "Filter.1.Name=name&Filter.1.Value.1=a&Filter.1.Value.2=c", "ac", ""},
		{"and between filters", "Filter.1.Name=name&Filter.1.Value.1=*&Filter.2.Name=tag:k&Filter.2.Value.1=w", "b", ""},
		{"tag key", "Filter.1.Name=tag-key&Filter.1.Value.1=k", "ab", ""},
		{"tag value", "Filter.1.Name=tag-value&Filter.1.Value.1=w", "b", ""},
		{"unknown filter", "Filter.1.Name=colour&Filter.1.Value.1=w", "", "InvalidParameterValue"},
		{"no value", "Filter.1.Name=name", "", "InvalidParameterValue"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			kept, err := Keep(items, Filters(form(t, tt.query)), lookup)
			if code(err) != tt.code {
				t.Fatalf("error is %v, want code %q", err, tt.code)
			}
			got := ""
			for _, i := range kept {
				got += i.name
			}
			if got != tt.want {
				t.Errorf("kept %q, want %q", got, tt.want)
			}
		})
	}
}

func code(err *Error) string {
	if err == nil {
		return ""
	}
	return err.Code
}

// All pages together have every item once, in order, for any page size.
func TestCutWalksEverything(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(0, 30).Draw(t, "items")
		size := rapid.IntRange(1, 10).Draw(t, "page")
		var items []string
		for i := range n {
			items = append(items, fmt.Sprintf("%03d", i))
		}
		var got []string
		page := Page{Max: size}
		for {
			out, next, err := Cut(items, func(s string) string { return s }, page)
			if err != nil {
				t.Fatal(err)
			}
			if len(out) > size {
				t.Fatalf("page of %d, want at most %d", len(out), size)
			}
			got = append(got, out...)
			if next == "" {
				break
			}
			page.Token = next
		}
		if diff := cmp.Diff(items, got); diff != "" {
			t.Fatalf("pages differ (-want +got):\n%s", diff)
		}
	})
}

func TestPageRefusals(t *testing.T) {
	if _, err := PageOf(form(t, "MaxResults=4"), 5, 100); code(err) != "InvalidParameterValue" {
		t.Errorf("MaxResults=4 gives %v, want InvalidParameterValue", err)
	}
	if _, err := PageOf(form(t, ""), 5, 100); err != nil {
		t.Errorf("no MaxResults gives %v", err)
	}
	if _, _, err := Cut([]string{"a"}, func(s string) string { return s }, Page{Token: "bogus"}); code(err) != "InvalidPaginationToken" {
		t.Errorf("bogus token gives %v, want InvalidPaginationToken", err)
	}
}

func TestAnswers(t *testing.T) {
	type tag struct {
		Key string `xml:"key"`
	}
	body := struct {
		Tags  Set[tag] `xml:"tagSet"`
		Empty Set[tag] `xml:"emptySet"`
		Next  string   `xml:"nextToken,omitempty"`
	}{Tags: SetOf(tag{"a&b"})}
	got, err := EC2Answer("DescribeX", "req-1", body)
	if err != nil {
		t.Fatal(err)
	}
	want := `<?xml version="1.0" encoding="UTF-8"?>
<DescribeXResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>req-1</requestId>` +
		`<tagSet><item><key>a&amp;b</key></item></tagSet><emptySet></emptySet></DescribeXResponse>`
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("answer differs (-want +got):\n%s", diff)
	}
	failure := string(EC2Failure(Errorf("Code.X", "a < b"), "req-2"))
	want = `<?xml version="1.0" encoding="UTF-8"?>
<Response><Errors><Error><Code>Code.X</Code><Message>a &lt; b</Message></Error></Errors><RequestID>req-2</RequestID></Response>`
	if diff := cmp.Diff(want, failure); diff != "" {
		t.Errorf("failure differs (-want +got):\n%s", diff)
	}
}
