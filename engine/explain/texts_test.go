package explain_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"github.com/karpenter-go/karpenter/engine/explain"
	"github.com/karpenter-go/karpenter/engine/model"
)

// verdicts has a sample of each rule and cause. Texts that are built where a verdict is created are checked in the scenarios of
// engine/disrupt and engine/pack.
var verdicts = []model.Verdict{
	{Rule: model.RuleNoPool},
	{Rule: model.RulePool, Cause: model.CauseDeleting},
	{Rule: model.RulePool, Cause: model.CauseStatic, By: 2},
	{Rule: model.RulePool, Cause: model.CauseNotReady, Subject: "NodeClassReady=False"},
	{Rule: model.RulePool, Cause: model.CauseNotReady},
	{Rule: model.RuleUnsupported, Subject: "spec.resourceClaims (dynamic resource allocation)"},
	{Rule: model.RuleInvalid, Subject: "required node affinity has no term with matchExpressions"},
	{Rule: model.RuleInvalid, Cause: model.CauseGate, Subject: `not planned: scheduling gate "wait" is set`, Hint: "remove the gate"},
	{Rule: model.RuleInvalid, Cause: model.CauseInternal, Subject: "no valid placement was found"},
	{Rule: model.RuleOversized, Resource: "cpu", By: model.MaxAmount},
	{Rule: model.RuleTaint, Subject: "dedicated=gpu:NoSchedule"},
	{Rule: model.RuleLabels, Subject: "requires kubernetes.io/arch in [arm64], but the NodePool has kubernetes.io/arch in [amd64]"},
	{Rule: model.RuleResources, Resource: "cpu", By: 406310},
	{Rule: model.RuleResources, Resource: "memory", By: 7838315316},
	{Rule: model.RuleResources, Resource: "nvidia.com/gpu", By: 12},
	{Rule: model.RuleShape},
	{Rule: model.RulePorts, Subject: "a DaemonSet pod on every new node uses it"},
	{Rule: model.RuleTopology, Cause: model.CauseSpread, Key: "topology.kubernetes.io/zone"},
	{Rule: model.RuleTopology, Cause: model.CauseSpread, Key: "topology.kubernetes.io/zone", Subject: "DaemonSet shop/agent"},
	{Rule: model.RuleTopology, Cause: model.CauseAffinity, Key: "topology.kubernetes.io/zone"},
	{Rule: model.RuleTopology, Cause: model.CauseAntiAffinity, Key: "kubernetes.io/hostname"},
	{Rule: model.RuleTopology, Cause: model.CauseOthersAffinity, Key: "kubernetes.io/hostname"},
	{Rule: model.RuleTopology, Cause: model.CauseOthersAffinity, Key: "kubernetes.io/hostname", Subject: "DaemonSet shop/agent"},
	{Rule: model.RuleTopology, Cause: model.CauseDaemonSpread, Key: "topology.kubernetes.io/zone", Subject: "DaemonSet shop/agent"},
	{Rule: model.RuleTopology, Cause: model.CauseDaemons, Subject: "DaemonSet shop/agent"},
	{Rule: model.RuleOffering, Subject: "m7a.large"},
	{Rule: model.RuleOffering, Cause: model.CauseQuota, Subject: "on-demand vCPUs for Standard instances"},
	{Rule: model.RuleOffering, Cause: model.CauseReservation, Subject: "cr-1"},
	{Rule: model.RuleVolume, Cause: model.CauseMissing, Subject: "PersistentVolumeClaim shop/nope does not exist",
		Hint: "create PersistentVolumeClaim shop/nope"},
	{Rule: model.RuleVolume, Subject: "needs 3 more volumes of CSI driver ebs.csi.aws.com than any instance type can attach"},
	{Rule: model.RuleLimit, Resource: "memory", By: 455 << 20},
	{Rule: model.RuleLimit, Resource: model.Nodes, By: 1},
	{Rule: model.RuleMinValues, Key: "node.kubernetes.io/instance-type"},
	{Rule: model.RuleEffort},
	{Rule: model.RuleEffort, Cause: model.CauseNextPass},
	{Rule: model.RuleBudget, Key: "default", Subject: "1"},
	{Rule: model.RuleNotReady},
	{Rule: model.RuleDisrupted},
	{Rule: model.RuleDisrupted, Cause: model.CauseRebooting},
	{Rule: model.RuleUnhealthy, Cause: model.CauseDoNotRepair, Subject: "node is unhealthy, and has annotation karpenter.sh/do-not-repair"},
	{Rule: model.RuleUnhealthy, Cause: model.CauseNoDrainBound,
		Subject: "node is unhealthy, but its drain has no time limit (terminationGracePeriod) and is blocked: pod shop/a has annotation karpenter.sh/do-not-disrupt"},
	{Rule: model.RuleAnnotation, Subject: "pod shop/a"},
	{Rule: model.RulePolicy, Cause: model.CauseNoNodePool, Key: "default"},
	{Rule: model.RulePolicy, Cause: model.CausePaused},
	{Rule: model.RulePolicy, Cause: model.CausePoolPaused, Key: "default"},
	{Rule: model.RulePolicy, Cause: model.CauseZoneShifted, Key: "default", Subject: "us-east-1a"},
	{Rule: model.RulePolicy, Cause: model.CauseBackoff, Key: "default", Subject: "2026-01-01T00:00:00Z"},
	{Rule: model.RulePolicy, Cause: model.CauseRateLimit, By: 1},
	{Rule: model.RulePolicy, Cause: model.CauseStatic, Key: "default"},
	{Rule: model.RulePolicy, Cause: model.CauseNever, Key: "default"},
	{Rule: model.RulePolicy, Cause: model.CauseWhenEmpty, Key: "default", Subject: "shop/a"},
	{Rule: model.RulePolicy, Cause: model.CauseUnpriced, Subject: "zz.large (on-demand, us-east-1a)"},
	{Rule: model.RulePolicy, Cause: model.CauseFeatureGate, Key: "default"},
	{Rule: model.RulePolicy, Cause: model.CauseSurplus, Key: "default"},
	{Rule: model.RulePolicy, Cause: model.CauseExpiring, By: 20},
	{Rule: model.RuleNominated},
	{Rule: model.RuleRecent, By: int64(30 * time.Second)},
	{Rule: model.RuleRecent},
	{Rule: model.RuleRecent, Cause: model.CauseMoving},
	{Rule: model.RuleRecent, Cause: model.CauseGathering, By: int64(2 * time.Minute)},
	{Rule: model.RuleInUse, Subject: "pod shop/a"},
	{Rule: model.RulePDB, Subject: "PodDisruptionBudget shop/db allows no further disruption (pod shop/a)"},
	{Rule: model.RulePDB, Cause: model.CauseManyPDBs,
		Subject: "pod shop/a is selected by more than one PodDisruptionBudget (shop/db, shop/all), which the eviction API refuses"},
	{Rule: model.RuleUndo},
	{Rule: model.RuleSpot, Cause: model.CauseFeatureGate,
		Subject: "SpotToSpotConsolidation is disabled: a spot node is not replaced with a cheaper spot node"},
	{Rule: model.RuleSpot, Key: "default", Subject: "spot-to-spot consolidation needs 15 cheaper instance types, found 7"},
	{Rule: model.RulePayback, Key: "default",
		Subject: "would save $0.0500 within the payback period (4h), less than the $0.0800 that moving 3 pods is taken to cost"},
	{Rule: model.RulePayback, Cause: model.CauseBalanced, Key: "default",
		Subject: "consolidation score 0.13 is below 0.50 (consolidationPolicy: Balanced)"},
	{Rule: model.RuleNotDue},
	{Rule: model.RuleBuffer, Subject: "shop/spare"},
}

// Each verdict and each fix is a short fragment in the terms of Kubernetes. A refusal of a pod has a fix or says why
// there is none.
func TestTextsOfVerdicts(t *testing.T) {
	seen := map[string]bool{}
	for _, v := range verdicts {
		name := fmt.Sprintf("rule %d, cause %d: %s", v.Rule, v.Cause, v)
		for _, fault := range faultsOf(v.String()) {
			t.Errorf("%s: %s", name, fault)
		}
		advice, _ := explain.Fix(v)
		if v.Rule <= model.RuleMinValues && advice == "" {
			t.Errorf("%s: has no fix", name)
		}
		for _, fault := range faultsOf(advice) {
			t.Errorf("%s: %q %s", name, advice, fault)
		}
		seen[fmt.Sprint(v.Rule)] = true
	}
	for rule := model.RuleNoPool; rule <= model.RuleBuffer; rule++ {
		if rule != model.RuleNoPlace && rule != model.RulePrice && !seen[fmt.Sprint(rule)] {
			t.Errorf("no sample of rule %d", rule)
		}
	}
}

// The texts in the scenarios obey the same rules. They are the reasons why pods are refused and nodes are kept, and conditions.
func TestTextsOfScenarios(t *testing.T) {
	starts := regexp.MustCompile(`^(refuse [^:]+|blocked [^:]+|condition \S+ [A-Za-z]+|warn \w+): `)
	for _, pattern := range []string{
		"testdata/scenario/*.txtar", "../disrupt/testdata/scenario/*.txtar", "../pack/testdata/scenario/*.txtar",
		"../lifecycle/testdata/scenario/*.txtar",
	} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no scenarios in %s: %v", pattern, err)
		}
		for _, file := range files {
			for _, line := range strings.Split(wantOf(t, file), "\n") {
				text := strings.TrimSpace(line)
				if where := starts.FindString(line); where != "" {
					text = line[len(where):]
				} else if !strings.HasPrefix(pattern, "testdata") {
					continue
				}
				for _, part := range strings.Split(text, "; ") {
					for _, fault := range faultsOf(part) {
						t.Errorf("%s: %q %s", file, part, fault)
					}
				}
			}
		}
	}
}

func wantOf(t *testing.T, file string) string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range txtar.Parse(data).Files {
		if f.Name == "want" {
			return string(f.Data)
		}
	}
	return ""
}

// The patterns that faultsOf uses.
var (
	milli      = regexp.MustCompile(`\b\d+m (cpu|more|less)|\bcpu (by )?\d+m\b`)
	longNumber = regexp.MustCompile(`(^|[\s(])\d{5,}\b`)
	dollars    = regexp.MustCompile(`\$\d+(\.\d+)?`)
	fourDigits = regexp.MustCompile(`^\$\d+\.\d{4}$`)
	names      = regexp.MustCompile(`"[^"]*"|\S+/\S+`)
	badKinds   = regexp.MustCompile(`\b(the|its|this|a) (pool|claim|class|daemon)s?\b|\bnodepool "|\bdaemons\b`)
	badWords   = regexp.MustCompile(`(?i)\b(comes?|came|goes|gone|stays?|let go|told|somebody|nobody|holds? back|held back|in vain|` +
		`beyond repair|by halves|room|place|on offer|is out|takes? back|in the place of|by choice|worth|brake|steer|neighbours?|` +
		`looks? at|looked at|asks?|asked|wants?)\b`)
)

// faultsOf returns what is wrong with the wording of a text.
func faultsOf(text string) []string {
	var out []string
	check := func(bad bool, fault string) {
		if bad {
			out = append(out, fault)
		}
	}
	check(milli.MatchString(text), "has an amount in millicores")
	check(longNumber.MatchString(text), "has a number without separators")
	for _, d := range dollars.FindAllString(text, -1) {
		check(!fourDigits.MatchString(d), "has an amount of dollars without four decimals")
	}
	check(badKinds.MatchString(text), "names a kind by another word than the API")
	word := badWords.FindString(names.ReplaceAllString(text, ""))
	check(word != "", fmt.Sprintf("has the word %q", word))
	check(strings.Contains(text, "?"), "is a question")
	check(strings.HasPrefix(text, "its ") || strings.HasPrefix(text, "it "), "begins with a pronoun")
	check(strings.HasSuffix(text, ".") || strings.HasSuffix(text, ":") || strings.TrimSpace(text) != text, "ends with a stop or a space")
	check(strings.Contains(text, "  ") || strings.Contains(text, "\n"), "has two spaces or a line break")
	check(len(strings.Fields(text)) > 40, "has more than 40 words")
	for _, sentence := range strings.FieldsFunc(text, func(r rune) bool { return r == ':' || r == ';' }) {
		check(len(strings.Fields(sentence)) > 25, "has more than 25 words")
	}
	return out
}
