package awsemu

import (
	"encoding/json"
	"net/http"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// A protocol encodes responses in the format of a group of services.
type protocol interface {
	success(r *request, body any) (answer, error)
	failure(r *request, e *wire.Error) answer
	// throttled returns the error response to a throttled call.
	throttled() *wire.Error
}

// ec2Query is EC2's variant of the query protocol.
type ec2Query struct{}

func (ec2Query) success(r *request, body any) (answer, error) {
	data, err := wire.EC2Answer(r.action, r.id, body)
	return answer{status: http.StatusOK, body: data, header: xmlHeader("x-amzn-RequestId", r.id)}, err
}

func (ec2Query) failure(r *request, e *wire.Error) answer {
	return answer{status: e.Status, code: e.Code, body: wire.EC2Failure(e, r.id), header: xmlHeader("x-amzn-RequestId", r.id)}
}

func (ec2Query) throttled() *wire.Error {
	return wire.Errorf("RequestLimitExceeded", "Request limit exceeded.")
}

// awsQuery is the query protocol of IAM and STS.
type awsQuery struct{ namespace string }

func (p awsQuery) success(r *request, body any) (answer, error) {
	data, err := wire.QueryAnswer(p.namespace, r.action, r.id, body)
	return answer{status: http.StatusOK, body: data, header: xmlHeader("x-amzn-RequestId", r.id)}, err
}

func (p awsQuery) failure(r *request, e *wire.Error) answer {
	return answer{status: e.Status, code: e.Code, body: wire.QueryFailure(p.namespace, e, r.id), header: xmlHeader("x-amzn-RequestId", r.id)}
}

func (awsQuery) throttled() *wire.Error { return wire.Errorf("Throttling", "Rate exceeded") }

// xmlHeader returns the header of an XML response.
func xmlHeader(idKey, id string) map[string]string {
	return map[string]string{"Content-Type": "text/xml;charset=UTF-8", idKey: id}
}

// awsJSON is the protocol of SSM, Pricing and SQS.
type awsJSON struct{ version string }

func (p awsJSON) success(r *request, body any) (answer, error) {
	if body == nil {
		body = struct{}{}
	}
	data, err := json.Marshal(body)
	return answer{status: http.StatusOK, body: data, header: p.header(r)}, err
}

func (p awsJSON) failure(r *request, e *wire.Error) answer {
	a := jsonFailure(e, p.header(r))
	// Services that used the query protocol in the past send its error code to clients that request it.
	if old, ok := queryCodes[e.Code]; ok && r.http.Header.Get("X-Amzn-Query-Mode") == "true" {
		a.header["x-amzn-query-error"] = old + ";Sender"
	}
	return a
}

func (awsJSON) throttled() *wire.Error { return wire.Errorf("ThrottlingException", "Rate exceeded") }

func (p awsJSON) header(r *request) map[string]string {
	return map[string]string{"Content-Type": "application/x-amz-json-" + p.version, "x-amzn-RequestId": r.id}
}

// queryCodes are the error codes that SQS had in the query protocol, by their current codes.
var queryCodes = map[string]string{"QueueDoesNotExist": "AWS.SimpleQueueService.NonExistentQueue"}

// restJSON is the protocol of EKS and ARC zonal shift.
type restJSON struct{}

func (restJSON) success(r *request, body any) (answer, error) {
	data, err := json.Marshal(body)
	return answer{status: http.StatusOK, body: data, header: map[string]string{
		"Content-Type": "application/json", "x-amzn-RequestId": r.id,
	}}, err
}

func (restJSON) failure(r *request, e *wire.Error) answer {
	return jsonFailure(e, map[string]string{
		"Content-Type": "application/json", "x-amzn-RequestId": r.id, "x-amzn-ErrorType": e.Code,
	})
}

func (restJSON) throttled() *wire.Error {
	e := wire.Errorf("ThrottlingException", "Rate exceeded")
	e.Status = http.StatusTooManyRequests
	return e
}

// jsonFailure returns an error response of the JSON protocols.
func jsonFailure(e *wire.Error, header map[string]string) answer {
	body, err := json.Marshal(map[string]string{"__type": e.Code, "message": e.Message})
	if err != nil {
		body = []byte(`{}`) // strings always encode
	}
	return answer{status: e.Status, code: e.Code, header: header, body: body}
}
