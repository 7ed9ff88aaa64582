package require

import "testing"

func TestIntersects(t *testing.T) {
	for _, tt := range []struct {
		name string
		s, o Set
		want string // the conflict; empty for none
	}{
		{"nothing in common", NewSet(New("a", In, "x")), NewSet(New("b", In, "y")), ""},
		{"an empty set", NewSet(New("a", In)), Set{}, ""},
		{"values in common", NewSet(New("a", In, "x", "y")), NewSet(New("a", In, "y", "z")), ""},
		{"no value in common", NewSet(New("a", In, "x")), NewSet(New("a", In, "y")), "requires a in [y], but the NodePool has a in [x]"},
		{"absent to both", NewSet(New("a", DoesNotExist)), NewSet(New("a", DoesNotExist)), ""},
		{"excluded and absent", NewSet(New("a", NotIn, "x")), NewSet(New("a", DoesNotExist)), ""},
		{"absent and excluded", NewSet(New("a", DoesNotExist)), NewSet(New("a", NotIn, "x")), ""},
		{"two exclusions", NewSet(New("a", NotIn, "x")), NewSet(New("a", NotIn, "y")), ""},
		{"absent and present", NewSet(New("a", DoesNotExist)), NewSet(New("a", Exists)), "requires a present, but the NodePool has a absent"},
		{"present, excluded, and absent", NewSet(New("a", NotIn, "x"), New("a", Exists)), NewSet(New("a", DoesNotExist)),
			"requires a absent, but the NodePool has a present and not in [x]"},
		{"absent and listed", NewSet(New("a", DoesNotExist)), NewSet(New("a", In, "x")), "requires a in [x], but the NodePool has a absent"},
		{"listed and excluded", NewSet(New("a", In, "x")), NewSet(New("a", NotIn, "x")), "requires a not in [x], but the NodePool has a in [x]"},
		{"bounds that cross", NewSet(New("a", Gt, "5")), NewSet(New("a", Lt, "5")), "requires a <= 4, but the NodePool has a >= 6"},
		{"a contradiction", NewSet(New("a", Exists)), NewSet(New("a", In)), "the constraints on a contradict each other"},
		{
			"the first key in order", FromLabels(map[string]string{"z": "1", "m": "1", "a": "1"}),
			FromLabels(map[string]string{"z": "2", "m": "2", "a": "1"}), "requires m in [2], but the NodePool has m in [1]",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, ok := tt.s.Intersects(tt.o)
			check(t, c, ok, tt.want)
		})
	}
}

func TestCompatible(t *testing.T) {
	wellKnown := func(key string) bool { return key == "zone" || key == "arch" }
	for _, tt := range []struct {
		name      string
		s, o      Set
		undefined func(string) bool
		want      string
	}{
		{"nothing is asked", NewSet(New("a", In, "x")), Set{}, nil, ""},
		{"a label defined", NewSet(New("a", In, "x")), NewSet(New("a", Exists)), nil, ""},
		{"a label not defined", Set{}, NewSet(New("a", In, "x")), wellKnown, "requires label a in [x], which no node of the NodePool has"},
		{"even any value must be defined", Set{}, NewSet(New("a", Exists)), wellKnown, "requires label a present, which no node of the NodePool has"},
		{"a bound must be defined", Set{}, NewSet(New("a", Gt, "5")), wellKnown, "requires label a >= 6, which no node of the NodePool has"},
		{"a well-known label need not be", Set{}, NewSet(New("zone", In, "x")), wellKnown, ""},
		{"unless none is allowed", Set{}, NewSet(New("zone", In, "x")), nil, "requires label zone in [x], which no node of the NodePool has"},
		{"an exclusion need not be", Set{}, NewSet(New("a", NotIn, "x")), nil, ""},
		{"absence need not be", Set{}, NewSet(New("a", DoesNotExist)), nil, ""},
		{"an exclusion that insists must be", Set{}, NewSet(New("a", NotIn, "x"), New("a", Exists)), nil,
			"requires label a present and not in [x], which no node of the NodePool has"},
		{"a contradiction is not saved by being well-known", Set{}, NewSet(New("zone", In, "x"), New("zone", In, "y")),
			wellKnown, "the constraints on zone contradict each other"},
		{"a label that differs", NewSet(New("zone", In, "x")), NewSet(New("zone", In, "y")), wellKnown,
			"requires zone in [y], but the NodePool has zone in [x]"},
		{"what only the node says does not matter", NewSet(New("a", In, "x"), New("b", In, "y")), NewSet(New("b", In, "y")), nil, ""},
		{
			"the first key in order", NewSet(New("b", In, "x")), NewSet(New("c", In, "x"), New("b", In, "y")), nil,
			"requires b in [y], but the NodePool has b in [x]",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, ok := tt.s.Compatible(tt.o, tt.undefined)
			check(t, c, ok, tt.want)
		})
	}
}

func check(t *testing.T, c Conflict, ok bool, want string) {
	t.Helper()
	switch {
	case ok != (want == ""):
		t.Errorf("ok = %v, conflict %q, want %q", ok, c, want)
	case ok && (c.Key != "" || c.Undefined):
		t.Errorf("ok, yet a conflict: %+v", c)
	case !ok && c.String() != want:
		t.Errorf("conflict %q, want %q", c, want)
	}
}

func TestWithHint(t *testing.T) {
	known := []string{"topology.kubernetes.io/zone", "topology.kubernetes.io/region", "kubernetes.io/arch",
		"node.kubernetes.io/instance-type", "karpenter.sh/capacity-type", "topology.k8s.aws/zone-id"}
	for _, tt := range []struct{ key, want string }{
		{"zone", "topology.kubernetes.io/zone"}, // although topology.k8s.aws/zone-id has a smaller edit distance
		{"zone-i", "topology.k8s.aws/zone-id"},
		{"topology.kubernetes.io/zon", "topology.kubernetes.io/zone"},
		{"topology.kuberentes.io/zone", "topology.kubernetes.io/zone"},
		{"beta.kubernetes.io/instance-type", "node.kubernetes.io/instance-type"},
		{"capacity-type", "karpenter.sh/capacity-type"},
		{"eks.amazonaws.com/capacity-type", "karpenter.sh/capacity-type"},
		{"kubernetes.io/arhc", "kubernetes.io/arch"},
		{"team", ""},
		{"kubernetes.io/arch", ""}, // a known key is never a hint for itself
	} {
		c := Conflict{Key: tt.key, Want: New(tt.key, Exists), Undefined: true}
		if got := c.WithHint(known...).Hint; got != tt.want {
			t.Errorf("hint for %q is %q, want %q", tt.key, got, tt.want)
		}
	}

	c := Conflict{Key: "zon", Want: New("zon", In, "a"), Undefined: true}
	if got, want := c.WithHint("zone", "zones").String(),
		"requires label zon in [a], which no node of the NodePool has (similar key: zone)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := (Conflict{Key: "zone", Have: New("zone", In, "b")}).WithHint("zones"); got.Hint != "" {
		t.Errorf("a label that is defined got the hint %q", got.Hint)
	}
}
