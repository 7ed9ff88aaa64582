package sim

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/tools/txtar"
)

// A Scenario is what happens in a simulation: the objects at its beginning and the events after it.
//
// As text it is a txtar archive: prose, the files with manifests, and the file "story". A line of the story is
//
//	at 5m api-errors 0.2 for 3m
//
// with the time after the beginning, a verb with its arguments, and for verbs that last, for how long. The file "want", if there
// is one, has lines that Result.Unmet checks.
type Scenario struct {
	// Prose says what the scenario shows.
	Prose string
	// Seed determines everything that the scenario leaves open: delays, choices and names.
	Seed uint64
	// Length is how long the simulation lasts after its last event. Zero means DefaultLength.
	Length time.Duration
	// Replicas is how many processes of the operator run. Zero means one.
	Replicas int
	// Flags are those of the operator, such as --feature-gates=NodeRepair=true.
	Flags []string
	// Types are patterns of instance types that EC2 offers besides the usual ones, such as g5.*.
	Types []string
	// IPv6 makes it a cluster whose pods and services have IPv6 addresses.
	IPv6 bool
	// Files are manifests by name. "cluster.yaml" is applied at the beginning, others by the verb apply.
	Files  []File
	Events []Event
	// Want has the lines that Result.Unmet checks; empty for none.
	Want string
}

// A File is a named part of a scenario.
type File struct{ Name, Text string }

// An Event is one line of a story.
type Event struct {
	At   time.Duration
	Verb string
	Args []string
	// For is how long the event lasts, for verbs that last.
	For time.Duration
}

// DefaultLength is how long a simulation lasts after its last event. By then all pods must run and nothing may move.
const DefaultLength = 35 * time.Minute

// String returns the event as a line of a story.
func (e Event) String() string {
	s := "at " + short(e.At) + " " + strings.Join(append([]string{e.Verb}, e.Args...), " ")
	if e.For > 0 {
		s += " for " + short(e.For)
	}
	return s
}

// number returns an argument as a whole number.
func (e Event) number(n int) (int, error) {
	i, err := strconv.Atoi(e.Args[n])
	if err != nil {
		return 0, fmt.Errorf("%s: %w", e, err)
	}
	return i, nil
}

// duration returns an argument as a duration.
func (e Event) duration(n int) (time.Duration, error) {
	d, err := time.ParseDuration(e.Args[n])
	if err != nil {
		return 0, fmt.Errorf("%s: %w", e, err)
	}
	return d, nil
}

// short prints a duration without the units that are zero at its end.
func short(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// End returns when the last event is over.
func (s *Scenario) End() time.Duration {
	var end time.Duration
	for _, e := range s.Events {
		end = max(end, e.At+e.For)
	}
	return end
}

// file returns the text of a file.
func (s *Scenario) file(name string) (string, bool) {
	for _, f := range s.Files {
		if f.Name == name {
			return f.Text, true
		}
	}
	return "", false
}

// Format returns the scenario as a txtar archive.
func (s *Scenario) Format() []byte {
	var story strings.Builder
	fmt.Fprintf(&story, "seed %d\n", s.Seed)
	if s.Length > 0 {
		fmt.Fprintf(&story, "length %s\n", short(s.Length))
	}
	if s.Replicas > 0 {
		fmt.Fprintf(&story, "replicas %d\n", s.Replicas)
	}
	for _, f := range s.Flags {
		fmt.Fprintf(&story, "flag %s\n", f)
	}
	for _, t := range s.Types {
		fmt.Fprintf(&story, "types %s\n", t)
	}
	if s.IPv6 {
		fmt.Fprintln(&story, "ipv6 true")
	}
	for _, e := range s.Events {
		fmt.Fprintln(&story, e)
	}
	a := &txtar.Archive{Comment: []byte(strings.TrimSpace(s.Prose) + "\n")}
	for _, f := range s.Files {
		a.Files = append(a.Files, txtar.File{Name: f.Name, Data: []byte(f.Text)})
	}
	a.Files = append(a.Files, txtar.File{Name: "story", Data: []byte(story.String())})
	if s.Want != "" {
		a.Files = append(a.Files, txtar.File{Name: "want", Data: []byte(s.Want + "\n")})
	}
	return txtar.Format(a)
}

// Parse reads a scenario. An error names the line.
func Parse(data []byte) (*Scenario, error) {
	a := txtar.Parse(data)
	s := &Scenario{Prose: strings.TrimSpace(string(a.Comment))}
	for _, f := range a.Files {
		if f.Name == "want" {
			s.Want = strings.TrimSpace(string(f.Data))
			continue
		}
		if f.Name != "story" {
			s.Files = append(s.Files, File{f.Name, string(f.Data)})
			continue
		}
		lines := bufio.NewScanner(bytes.NewReader(f.Data))
		for n := 1; lines.Scan(); n++ {
			line, _, _ := strings.Cut(lines.Text(), "#")
			if err := s.parse(strings.Fields(line)); err != nil {
				return nil, fmt.Errorf("story:%d: %q: %w", n, lines.Text(), err)
			}
		}
	}
	slices.SortStableFunc(s.Events, func(a, b Event) int { return int(a.At - b.At) })
	return s, nil
}

var errUsage = errors.New("want at TIME VERB, seed N, length D, replicas N, flag F, types PATTERN or ipv6 true|false")

// parse reads one line of a story.
func (s *Scenario) parse(words []string) (err error) {
	if len(words) == 0 {
		return nil
	}
	if len(words) < 2 {
		return errUsage
	}
	switch words[0] {
	case "seed":
		s.Seed, err = strconv.ParseUint(words[1], 10, 64)
	case "length":
		s.Length, err = time.ParseDuration(words[1])
	case "replicas":
		s.Replicas, err = strconv.Atoi(words[1])
	case "flag":
		s.Flags = append(s.Flags, words[1])
	case "types":
		s.Types = append(s.Types, words[1])
	case "ipv6":
		s.IPv6, err = strconv.ParseBool(words[1])
	case "at":
		var e Event
		if e, err = parseEvent(words[1:]); err == nil {
			s.Events = append(s.Events, e)
		}
	default:
		err = errUsage
	}
	return err
}

// parseEvent reads TIME VERB ARGS… [for D].
func parseEvent(words []string) (e Event, err error) {
	if len(words) < 2 {
		return e, fmt.Errorf("want at TIME VERB")
	}
	if e.At, err = time.ParseDuration(words[0]); err != nil {
		return e, err
	}
	e.Verb, words = words[1], words[2:]
	if n := len(words); n >= 2 && words[n-2] == "for" {
		if e.For, err = time.ParseDuration(words[n-1]); err != nil {
			return e, err
		}
		words = words[:n-2]
	}
	e.Args = append([]string(nil), words...)
	v, ok := verbs()[e.Verb]
	if !ok {
		return e, fmt.Errorf("unknown verb %q", e.Verb)
	}
	if len(e.Args) < v.least || len(e.Args) > v.most || v.lasts != (e.For > 0) {
		return e, fmt.Errorf("usage: at TIME %s %s", e.Verb, v.usage)
	}
	return e, nil
}

// documents returns the documents of cluster.yaml.
func (s *Scenario) documents() []string {
	text, _ := s.file("cluster.yaml")
	return strings.Split(text, "---\n")
}

// addDocuments adds documents to cluster.yaml.
func (s *Scenario) addDocuments(docs ...string) { s.setDocuments(append(s.documents(), docs...)) }

// setDocuments replaces the documents of cluster.yaml.
func (s *Scenario) setDocuments(docs []string) {
	for i := range s.Files {
		if s.Files[i].Name == "cluster.yaml" {
			s.Files[i].Text = strings.Join(docs, "---\n")
		}
	}
}
