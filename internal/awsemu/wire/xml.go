package wire

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"strings"
	"time"
)

// EC2Namespace is the XML namespace of EC2's responses.
const EC2Namespace = "http://ec2.amazonaws.com/doc/2016-11-15/"

// TimeFormat is the time format of EC2.
const TimeFormat = "2006-01-02T15:04:05.000Z"

// Time returns a time in EC2's format.
func Time(t time.Time) string { return t.UTC().Format(TimeFormat) }

// A Set is a list in EC2's XML. Its element exists even if the list is empty.
type Set[T any] struct {
	Items []T `xml:"item"`
}

// SetOf returns a list of items.
func SetOf[T any](items ...T) Set[T] { return Set[T]{Items: items} }

// Members is a list in awsQuery's XML. Its element exists even if the list is empty.
type Members[T any] struct {
	Items []T `xml:"member"`
}

// EC2Answer returns the XML of an ec2Query response: the request id, then the fields of body.
func EC2Answer(action, requestID string, body any) ([]byte, error) {
	inner, err := fields(body)
	if err != nil {
		return nil, fmt.Errorf("encode answer of %s: %w", action, err)
	}
	var out bytes.Buffer
	out.WriteString(xml.Header)
	fmt.Fprintf(&out, "<%sResponse xmlns=%q><requestId>%s</requestId>", action, EC2Namespace, requestID)
	out.Write(inner)
	fmt.Fprintf(&out, "</%sResponse>", action)
	return out.Bytes(), nil
}

// EC2Failure returns the XML of an ec2Query error.
func EC2Failure(e *Error, requestID string) []byte {
	return fmt.Appendf([]byte(xml.Header),
		"<Response><Errors><Error><Code>%s</Code><Message>%s</Message></Error></Errors><RequestID>%s</RequestID></Response>",
		escape(e.Code), escape(e.Message), requestID)
}

// QueryAnswer returns the XML of an awsQuery response: a result element with the fields of body, then the request id.
func QueryAnswer(namespace, action, requestID string, body any) ([]byte, error) {
	inner, err := fields(body)
	if err != nil {
		return nil, fmt.Errorf("encode answer of %s: %w", action, err)
	}
	var out bytes.Buffer
	fmt.Fprintf(&out, "<%sResponse xmlns=%q><%sResult>", action, namespace, action)
	out.Write(inner)
	fmt.Fprintf(&out, "</%sResult><ResponseMetadata><RequestId>%s</RequestId></ResponseMetadata></%sResponse>",
		action, requestID, action)
	return out.Bytes(), nil
}

// QueryFailure returns the XML of an awsQuery error.
func QueryFailure(namespace string, e *Error, requestID string) []byte {
	fault := "Sender"
	if e.Status >= 500 {
		fault = "Receiver"
	}
	return fmt.Appendf(nil,
		"<ErrorResponse xmlns=%q><Error><Type>%s</Type><Code>%s</Code><Message>%s</Message></Error><RequestId>%s</RequestId></ErrorResponse>",
		namespace, fault, escape(e.Code), escape(e.Message), requestID)
}

// fields returns the XML of a struct's fields without an element around them.
func fields(body any) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	var out bytes.Buffer
	enc := xml.NewEncoder(&out)
	if err := enc.EncodeElement(body, xml.StartElement{Name: xml.Name{Local: "body"}}); err != nil {
		return nil, err
	}
	inner := bytes.TrimSuffix(bytes.TrimPrefix(out.Bytes(), []byte("<body>")), []byte("</body>"))
	return inner, nil
}

// escaper escapes text between XML tags. Like EC2, it does not escape quotes.
var escaper = strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;")

func escape(text string) string { return escaper.Replace(text) }
