package awsemu

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// A request is one call of an operation.
type request struct {
	id      string
	service string // signing name; empty if unknown
	action  string
	form    wire.Form // of the query protocols
	body    []byte    // of the JSON protocols
	path    string    // of the REST protocols: the path after the name of the collection
	http    *http.Request
	values  url.Values
}

// jsonServices has the services by the prefix of X-Amz-Target.
var jsonServices = map[string]string{
	"AmazonSSM": "ssm", "AWSPriceListService": "pricing", "AmazonSQS": "sqs",
}

// queryServices has the services by API version, for requests without a signature.
var queryServices = map[string]string{
	"2016-11-15": "ec2", "2010-05-08": "iam", "2011-06-15": "sts",
}

// identify determines the operation of a request. It returns no error: if the service or the action
// cannot be determined, it is empty.
func (e *Emulator) identify(r *http.Request, body []byte) *request {
	req := &request{id: e.world.NewUUID(), body: body, http: r, values: url.Values{}, service: signingName(r)}
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		prefix, action, _ := strings.Cut(target, ".")
		if i := strings.LastIndex(prefix, "_"); i > 0 {
			prefix = prefix[:i] // a dated prefix, Name_20140328
		}
		req.service, req.action = jsonServices[prefix], action
		return req
	}
	if rest, ok := strings.CutPrefix(r.URL.Path, "/clusters/"); ok && r.Method == http.MethodGet {
		req.service, req.action, req.path = "eks", eksAction(rest), rest
		return req
	}
	if rest, ok := strings.CutPrefix(r.URL.Path, "/managedresources/"); ok && r.Method == http.MethodGet {
		req.service, req.action, req.path = "arc", "GetManagedResource", rest
		return req
	}
	req.values = r.URL.Query()
	if form, err := url.ParseQuery(string(body)); err == nil {
		for k, v := range form {
			req.values[k] = v
		}
	}
	req.form = wire.NewForm(req.values)
	req.action = req.values.Get("Action")
	if s, ok := queryServices[req.values.Get("Version")]; ok {
		req.service = s
	}
	return req
}

// eksAction returns the EKS operation for a path below /clusters/.
func eksAction(path string) string {
	switch {
	case strings.Contains(path, "/access-entries/"):
		return "DescribeAccessEntry"
	case strings.HasSuffix(path, "/access-entries"):
		return "ListAccessEntries"
	}
	return "DescribeCluster"
}

// signingName returns the service in the credential scope of a signature:
// Credential=AKID/20260102/us-east-1/ec2/aws4_request.
func signingName(r *http.Request) string {
	_, credential, ok := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	if !ok {
		return ""
	}
	credential, _, _ = strings.Cut(credential, ",")
	parts := strings.Split(credential, "/")
	if len(parts) < 5 {
		return ""
	}
	return parts[len(parts)-2]
}

// decode decodes the JSON body of a request. An empty body leaves into unchanged.
func (r *request) decode(into any) *wire.Error {
	if len(r.body) == 0 {
		return nil
	}
	if err := json.Unmarshal(r.body, into); err != nil {
		return wire.Errorf("SerializationException", "The request body is not what the operation expects: %v", err)
	}
	return nil
}

// params returns the request's parameters for the record of calls. Long values are cut.
func (r *request) params() map[string]string {
	out := map[string]string{}
	for k, v := range r.values {
		if k != "Action" && k != "Version" && len(v) > 0 {
			out[k] = clip(v[0])
		}
	}
	if r.path != "" {
		out["path"] = r.path
	}
	if len(r.values) > 0 || len(r.body) == 0 {
		return out
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(r.body, &fields) != nil {
		out["body"] = clip(string(r.body))
		return out
	}
	for k, raw := range fields {
		var text string
		if json.Unmarshal(raw, &text) != nil {
			text = string(raw)
		}
		out[k] = clip(text)
	}
	return out
}

// maxParam is the maximum length of a parameter in the record, in bytes.
const maxParam = 512

// clip cuts text that is longer than maxParam and adds its length.
func clip(text string) string {
	if len(text) <= maxParam {
		return text
	}
	return fmt.Sprintf("%s... (%d bytes)", text[:maxParam], len(text))
}
