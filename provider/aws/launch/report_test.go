package launch

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/log"

	apiv1 "github.com/karpenter-go/karpenter/api/v1"
	"github.com/karpenter-go/karpenter/engine/model"
	"github.com/karpenter-go/karpenter/provider/aws/ttl"
)

// logged returns a context whose log lines are appended to the result, also those of the debug level.
func logged(t *testing.T) (context.Context, *[]string) {
	t.Helper()
	var lines []string
	sink := funcr.New(func(_, args string) { lines = append(lines, args) }, funcr.Options{Verbosity: 1})
	return log.IntoContext(t.Context(), sink), &lines
}

// The types that each filter removed are logged, with the names of at most five of them.
func TestDroppedTypesAreLogged(t *testing.T) {
	types := []*model.InstanceType{kind("m5.large", 2, 1), kind("c5.large", 1, 1.5), kind("m5.metal", 1, 0.5)}
	for n := range 7 {
		types = append(types, gpu(kind(fmt.Sprintf("g5.%dxlarge", n), 1, 0.5)))
	}
	claim := &apiv1.NodeClaim{}
	choice, err := Choose(claim, types, ChooseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, lines := logged(t)
	(&Launcher{}).logChoice(ctx, &order{Request: Request{Claim: claim}, choice: choice})
	text := strings.Join(*lines, "\n")
	for _, want := range []string{
		`"filter"="exotic-instance-filter" "count"=7 "instance-types"=["g5.0xlarge" "g5.1xlarge" "g5.2xlarge" "g5.3xlarge" "g5.4xlarge"]`,
		`"filter"="exotic-instance-filter" "count"=1 "instance-types"=["m5.metal"]`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no line with %s in\n%s", want, text)
		}
	}
	if strings.Contains(text, "on-demand") {
		t.Errorf("a launch of %s warns about on-demand:\n%s", choice.CapacityType, text)
	}
}

// A launch of on-demand capacity with few types is logged if the claim allows spot.
func TestFewTypesOnDemandAreLogged(t *testing.T) {
	for _, tt := range []struct {
		reqs  []req
		types int
		want  bool
	}{
		{nil, recommendedTypes - 1, true}, {nil, recommendedTypes, false},
		{[]req{in(apiv1.CapacityTypeLabelKey, apiv1.CapacityTypeOnDemand)}, recommendedTypes - 1, false},
	} {
		var types []*model.InstanceType
		for n := range tt.types {
			types = append(types, kind(fmt.Sprintf("m5.%dxlarge", n), 1, 0))
		}
		claim := &apiv1.NodeClaim{}
		claim.Spec.Requirements = tt.reqs
		choice, err := Choose(claim, types, ChooseOptions{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, lines := logged(t)
		(&Launcher{}).logChoice(ctx, &order{Request: Request{Claim: claim}, choice: choice})
		if (len(*lines) == 1) != tt.want {
			t.Errorf("%d types, requirements %v: lines %q", tt.types, tt.reqs, *lines)
		}
	}
}

// User data near the limit are logged once an hour for each class.
func TestLargeUserDataAreLogged(t *testing.T) {
	clock := clocktesting.NewFakePassiveClock(time.Unix(1e9, 0))
	l := &Launcher{loggedUserData: ttl.New[string, bool](clock, userDataLogPause)}
	ctx, lines := logged(t)
	l.logLargeUserData(ctx, "small", userDataWarnSize-1)
	for range 3 {
		l.logLargeUserData(ctx, "large", userDataWarnSize)
	}
	if len(*lines) != 1 || !strings.Contains((*lines)[0], `"large"`) {
		t.Errorf("lines are %q", *lines)
	}
	clock.SetTime(clock.Now().Add(userDataLogPause))
	if l.logLargeUserData(ctx, "large", userDataWarnSize); len(*lines) != 2 {
		t.Errorf("an hour later, lines are %q", *lines)
	}
}
