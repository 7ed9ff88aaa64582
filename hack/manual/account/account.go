package account

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
)

const (
	// ID is the number of the account, Partition and Region its partition and region.
	ID        = "123456789012"
	Partition = "aws"
	Region    = "us-east-1"
	// maxPolicy is the maximum number of characters of a managed policy in IAM, without white space.
	maxPolicy = 6144
)

// An Account serves API calls. It passes unknown calls to the emulator.
type Account struct {
	// Emulator serves the calls for instances, networks, roles, queues and prices.
	Emulator http.Handler
	// Groups are the node groups of the cluster by name, in the format of describe-nodegroup.
	Groups map[string]json.RawMessage

	mu       sync.Mutex
	roles    []string
	policies []string // ARNs
	stacks   map[string]bool
}

// New returns an account in which the named roles exist.
func New(emulator http.Handler, roles ...string) *Account {
	return &Account{Emulator: emulator, roles: roles, stacks: map[string]bool{}}
}

// A failure is an error response.
type failure struct{ code, message string }

func refuse(code, format string, args ...any) *failure {
	return &failure{code, fmt.Sprintf(format, args...)}
}

// ServeHTTP serves one call.
func (a *Account) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/"); len(parts) > 2 && parts[0] == "clusters" && parts[2] == "node-groups" {
		a.nodeGroups(w, parts[3:])
		return
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	form, err := url.ParseQuery(string(body))
	actions := map[string]func(url.Values) (string, *failure){
		"2010-05-08 CreatePolicy":              a.createPolicy,
		"2010-05-08 AttachRolePolicy":          a.attachRolePolicy,
		"2011-01-01 DescribeAutoScalingGroups": a.describeGroups,
		"2010-05-15 CreateStack":               a.createStack,
		"2010-05-15 DeleteStack":               a.deleteStack,
	}
	do := actions[form.Get("Version")+" "+form.Get("Action")]
	if err != nil || do == nil {
		r.Body = io.NopCloser(bytes.NewReader(body))
		a.Emulator.ServeHTTP(w, r)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	name := form.Get("Action")
	w.Header().Set("Content-Type", "text/xml")
	result, failed := do(form)
	if failed != nil {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, "<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error></ErrorResponse>",
			failed.code, escape(failed.message))
		return
	}
	fmt.Fprintf(w, "<%[1]sResponse><%[1]sResult>%[2]s</%[1]sResult></%[1]sResponse>", name, result)
}

func escape(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(text)) // a Builder never fails
	return b.String()
}

// nodeGroups lists the node groups, or describes one.
func (a *Account) nodeGroups(w http.ResponseWriter, rest []string) {
	var answer any
	if len(rest) == 0 {
		names := []string{}
		for name := range a.Groups {
			names = append(names, name)
		}
		slices.Sort(names)
		answer = map[string][]string{"nodegroups": names}
	} else if group, ok := a.Groups[rest[0]]; ok {
		answer = map[string]json.RawMessage{"nodegroup": group}
	} else {
		w.Header().Set("X-Amzn-ErrorType", "ResourceNotFoundException")
		w.WriteHeader(http.StatusNotFound)
		answer = map[string]string{"message": "No node group found for name: " + rest[0] + "."}
	}
	_ = json.NewEncoder(w).Encode(answer) // an error means that the client has disconnected
}

// describeGroups describes the Auto Scaling group of each node group.
func (a *Account) describeGroups(url.Values) (string, *failure) {
	var b strings.Builder
	b.WriteString("<AutoScalingGroups>")
	for _, name := range slices.Sorted(func(yield func(string) bool) {
		for name := range a.Groups {
			if !yield(name) {
				return
			}
		}
	}) {
		var g struct {
			ScalingConfig struct{ MinSize, MaxSize, DesiredSize int }
			Subnets       []string
		}
		if err := json.Unmarshal(a.Groups[name], &g); err != nil {
			return "", refuse("InternalFailure", "%v", err)
		}
		fmt.Fprintf(&b, "<member><AutoScalingGroupName>eks-%s</AutoScalingGroupName><MinSize>%d</MinSize><MaxSize>%d</MaxSize>"+
			"<DesiredCapacity>%d</DesiredCapacity><VPCZoneIdentifier>%s</VPCZoneIdentifier><Tags><member><Key>eks:nodegroup-name</Key>"+
			"<Value>%s</Value><PropagateAtLaunch>true</PropagateAtLaunch></member></Tags></member>",
			name, g.ScalingConfig.MinSize, g.ScalingConfig.MaxSize, g.ScalingConfig.DesiredSize, strings.Join(g.Subnets, ","), name)
	}
	b.WriteString("</AutoScalingGroups>")
	return b.String(), nil
}

var (
	policyName = regexp.MustCompile(`^[\w+=,.@-]{1,128}$`)
	space      = regexp.MustCompile(`\s+`)
)

// createPolicy creates a managed policy.
func (a *Account) createPolicy(form url.Values) (string, *failure) {
	name := form.Get("PolicyName")
	arn, failed := a.addPolicy(name, form.Get("PolicyDocument"))
	return fmt.Sprintf("<Policy><PolicyName>%s</PolicyName><Arn>%s</Arn></Policy>", name, arn), failed
}

// addPolicy stores a policy if its name is unused and its document is valid.
func (a *Account) addPolicy(name, document string) (arn string, failed *failure) {
	arn = "arn:" + Partition + ":iam::" + ID + ":policy/" + name
	switch {
	case !policyName.MatchString(name):
		return "", refuse("ValidationError", "the policy name %q is none", name)
	case slices.Contains(a.policies, arn):
		return "", refuse("EntityAlreadyExists", "A policy called %s already exists.", name)
	case len(space.ReplaceAllString(document, "")) > maxPolicy:
		return "", refuse("LimitExceeded", "Cannot exceed quota for PolicySize: %d", maxPolicy)
	}
	if failed := readPolicy(document); failed != nil {
		return "", failed
	}
	a.policies = append(a.policies, arn)
	return arn, nil
}

// attachRolePolicy checks that the policy and the role exist.
func (a *Account) attachRolePolicy(form url.Values) (string, *failure) {
	if !slices.Contains(a.roles, form.Get("RoleName")) {
		return "", refuse("NoSuchEntity", "The role with name %s cannot be found.", form.Get("RoleName"))
	}
	if !slices.Contains(a.policies, form.Get("PolicyArn")) {
		return "", refuse("NoSuchEntity", "Policy %s does not exist or is not attachable.", form.Get("PolicyArn"))
	}
	return "", nil
}

var resource = regexp.MustCompile(`^(\*|arn:aws:[a-z0-9-]+:[a-z0-9-]*:([0-9]{12}|aws|\*)?:.+)$`)

// readPolicy checks the format of a policy document in which all variables are substituted.
func readPolicy(document string) *failure {
	var policy struct {
		Version   string
		Statement []struct {
			Sid, Effect                          string
			Action, Resource, Principal          any
			NotAction, NotResource, NotPrincipal any
			Condition                            map[string]map[string]any
		}
	}
	decoder := json.NewDecoder(strings.NewReader(document))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&policy); err != nil {
		return refuse("MalformedPolicyDocument", "Syntax errors in policy: %v", err)
	}
	if policy.Version != "2012-10-17" || len(policy.Statement) == 0 {
		return refuse("MalformedPolicyDocument", "the version is %q, with %d statements", policy.Version, len(policy.Statement))
	}
	for _, s := range policy.Statement {
		for _, r := range words(s.Resource) {
			if !resource.MatchString(r) || strings.Contains(r, "${") {
				return refuse("MalformedPolicyDocument", "Resource %s must be in ARN format or \"*\".", r)
			}
		}
		if s.Effect != "Allow" && s.Effect != "Deny" || len(words(s.Action)) == 0 {
			return refuse("MalformedPolicyDocument", "statement %s has the effect %q and the actions %v", s.Sid, s.Effect, s.Action)
		}
	}
	return nil
}

// words returns the strings of a value that is one string or a list of strings.
func words(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case []any:
		var list []string
		for _, item := range v {
			list = append(list, fmt.Sprint(item))
		}
		return list
	}
	return nil
}
