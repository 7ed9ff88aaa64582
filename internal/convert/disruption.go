package convert

import (
	"fmt"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// policies maps names of consolidation policies, old and current ones in lower case, to those of v1.
var policies = map[string]string{
	"whenunderutilized":        "WhenEmptyOrUnderutilized",
	"whenemptyorunderutilized": "WhenEmptyOrUnderutilized",
	"whenempty":                "WhenEmpty",
	"balanced":                 "Balanced",
}

// setDisruption converts the disruption settings. old has the fields of the input's spec that are not yet converted,
// spec is the new spec, and inner is spec.template.spec.
func (p *pool) setDisruption(c *converter, old, spec, inner *yaml.Node) {
	f := take(old, "disruption")
	if f.ok() && f.value.Kind != yaml.MappingNode {
		c.warn(p.object, "spec.disruption", "not a mapping, removed: %s", brief(f.value))
		f = pair{}
	}
	if !f.ok() {
		f = pair{value: mapping()}
	}
	disruption := f.value
	for _, key := range []string{"consolidationPolicy", "consolidateAfter", "budgets", "expireAfter"} {
		for _, from := range []place{{"spec", old}, {"spec.template.spec", inner}} {
			if key == "expireAfter" && from.node == inner {
				continue
			}
			if moved := take(from.node, key); moved.ok() && get(disruption, key) == nil {
				put(disruption, key, moved)
			}
		}
	}
	if moved := take(disruption, "expireAfter"); moved.ok() {
		if get(inner, "expireAfter") == nil {
			put(inner, "expireAfter", moved)
		} else {
			c.warn(p.object, "spec.disruption.expireAfter", "removed because spec.template.spec.expireAfter is set: %s", brief(moved.value))
		}
	}
	p.setExpiry(c, old, disruption, inner)
	p.setPolicy(c, old, disruption)
	if n := get(disruption, "consolidateAfter"); n != nil {
		p.duration(c, "spec.disruption.consolidateAfter", n)
	}
	if n := get(inner, "expireAfter"); n != nil {
		p.duration(c, "spec.disruption.expireAfter", n)
	}
	p.budgets(c, get(disruption, "budgets"))
	p.restOf(c, disruption, "spec.disruption", []string{"consolidationPolicy", "consolidateAfter", "budgets"})
	if len(disruption.Content) > 0 {
		put(spec, "disruption", f)
	}
}

// seconds converts a number of seconds to a duration: in hours if they are whole, or else in seconds.
func (p *pool) seconds(n *yaml.Node) *yaml.Node {
	made := clone(n)
	made.Tag, made.Style = "!!str", 0
	if d, err := time.ParseDuration(n.Value + "s"); err == nil && d >= time.Hour && d%time.Hour == 0 {
		made.Value = fmt.Sprintf("%dh", d/time.Hour)
		return made
	}
	made.Value = n.Value + "s"
	return made
}

// policyInTemplate handles a consolidation policy that is a template expression. The expression may contain the
// policy's old name.
func (p *pool) policyInTemplate(c *converter, policy *yaml.Node) {
	t := p.doc.template
	if !t.in(policy.Value) {
		return
	}
	const was, is = "WhenUnderutilized", "WhenEmptyOrUnderutilized"
	if now, done := t.replace(policy.Value, was, is); done {
		policy.Value = now
		c.warn(p.object, "spec.disruption.consolidationPolicy", "%s in the template expression renamed to %s", was, is)
		return
	}
	c.warn(p.object, "spec.disruption.consolidationPolicy", "value is a template expression; fix: make sure that it does not render to %s; use %s", was, is)
}

// setExpiry moves the age at which nodes expire to spec.template.spec (inner). For a Provisioner without this
// setting, it writes Never, because the nodes of such a Provisioner did not expire.
func (p *pool) setExpiry(c *converter, old, disruption, inner *yaml.Node) {
	for _, m := range []*yaml.Node{old, disruption} {
		if ttl := take(m, "ttlSecondsUntilExpired"); ttl.ok() {
			put(inner, "expireAfter", pair{ttl.key, p.seconds(ttl.value)})
		}
	}
	if p.alpha && get(inner, "expireAfter") == nil {
		set(inner, "expireAfter", text("Never"))
	}
}

// setPolicy converts the consolidation policy. A Provisioner without such settings kept even empty nodes, so
// setPolicy then disables consolidation with consolidateAfter: Never.
func (p *pool) setPolicy(c *converter, old, disruption *yaml.Node) {
	empty, consolidation := take(old, "ttlSecondsAfterEmpty"), take(old, "consolidation")
	if inside := take(disruption, "ttlSecondsAfterEmpty"); inside.ok() {
		empty = inside
	}
	if inside := take(disruption, "consolidation"); inside.ok() {
		consolidation = inside
	}
	enabled := isTrue(consolidation.value) || isTrue(get(consolidation.value, "enabled"))
	if consolidation.ok() && consolidation.value.Kind == yaml.MappingNode {
		take(consolidation.value, "enabled")
		p.rest(c, consolidation.value, "spec.consolidation")
	}
	policy := get(disruption, "consolidationPolicy")
	switch {
	case policy != nil:
		if now, ok := policies[strings.ToLower(policy.Value)]; ok {
			policy.Value = now
		}
		p.policyInTemplate(c, policy)
		if empty.ok() {
			c.warn(p.object, "spec.ttlSecondsAfterEmpty", "removed because consolidationPolicy is set: %s", brief(empty.value))
		}
		if get(disruption, "consolidateAfter") == nil {
			set(disruption, "consolidateAfter", text("0s"))
		}
	case enabled:
		if empty.ok() {
			c.warn(p.object, "spec.ttlSecondsAfterEmpty", "removed because consolidation is enabled, which also removes empty nodes")
		}
		put(disruption, "consolidationPolicy", pair{keyOf(consolidation), text("WhenEmptyOrUnderutilized")})
		if get(disruption, "consolidateAfter") == nil {
			set(disruption, "consolidateAfter", text("0s"))
		}
	case empty.ok():
		key, after := keyOf(empty), clone(empty.value)
		behind := text("")
		behind.FootComment, key.FootComment = key.FootComment, ""
		put(disruption, "consolidationPolicy", pair{key, text("WhenEmpty")})
		after.Value, after.Tag, after.Style = empty.value.Value+"s", "!!str", 0
		if have := get(disruption, "consolidateAfter"); have != nil {
			c.warn(p.object, "spec.consolidateAfter", "removed because ttlSecondsAfterEmpty is set: %s", brief(have))
		}
		put(disruption, "consolidateAfter", pair{behind, after})
	case p.alpha && get(disruption, "consolidateAfter") == nil:
		set(disruption, "consolidationPolicy", text("WhenEmpty"))
		set(disruption, "consolidateAfter", text("Never"))
		c.warn(p.object, "spec", "set consolidateAfter: Never, because the Provisioner has neither ttlSecondsAfterEmpty nor"+
			" consolidation and kept empty nodes; fix: remove it to let Karpenter remove empty nodes")
	}
}

// keyOf returns a copy of the key of a pair, with its comments, for use under another name.
func keyOf(f pair) *yaml.Node { return clone(f.key) }

var (
	duration = regexp.MustCompile(`^(([0-9]+(s|m|h))+|Never)$`)
	digits   = regexp.MustCompile(`^[0-9]+$`)
	minutes  = regexp.MustCompile(`^([0-9]+) ?min(?:s|utes?)?$`)
	days     = regexp.MustCompile(`^([0-9]+)(d|w)$`)
)

// duration converts a duration to a format that v1 accepts, with a warning. It leaves a text that is not a duration
// as it is.
func (p *pool) duration(c *converter, field string, n *yaml.Node) {
	was := n.Value
	if n.Kind != yaml.ScalarNode || duration.MatchString(was) || p.doc.template.in(was) {
		return
	}
	switch d, err := time.ParseDuration(was); {
	case strings.EqualFold(was, "never"):
		n.Value = "Never"
	case digits.MatchString(was):
		n.Value = was + "s"
	case days.MatchString(was):
		parts := days.FindStringSubmatch(was)
		var count int
		if _, err := fmt.Sscanf(parts[1], "%d", &count); err != nil || count > 100_000 {
			return
		}
		n.Value = fmt.Sprintf("%dh", count*map[string]int{"d": 24, "w": 7 * 24}[parts[2]])
	case err == nil && d >= 0:
		n.Value = fmt.Sprintf("%ds", int64(d.Round(time.Second)/time.Second))
	default:
		return
	}
	n.Tag, n.Style = "!!str", 0
	c.warn(p.object, field, "%q converted to %s", was, n.Value)
}

// budgets converts budgets in place: it renames crontab to schedule, converts durations such as 5 min, and converts
// numbers to strings.
func (p *pool) budgets(c *converter, list *yaml.Node) {
	if list == nil || list.Kind != yaml.SequenceNode {
		return
	}
	for i, b := range list.Content {
		field := fmt.Sprintf("spec.disruption.budgets[%d]", i)
		if f := take(b, "crontab"); f.ok() {
			c.warn(p.object, field+".crontab", "renamed to schedule")
			put(b, "schedule", f)
		}
		if n := get(b, "duration"); n != nil && minutes.MatchString(n.Value) {
			was := n.Value
			n.Value = minutes.FindStringSubmatch(was)[1] + "m"
			c.warn(p.object, field+".duration", "%q converted to %s", was, n.Value)
		}
		for _, key := range []string{"nodes", "schedule"} {
			if n := get(b, key); n != nil {
				c.asText(p.object, field+"."+key, n)
			}
		}
	}
}
