package awsemu

import (
	"fmt"
	"strconv"
	"time"

	"github.com/karpenter-go/karpenter/internal/awsemu/wire"
)

// defaultHide is the default visibility timeout of a queue, in seconds.
const defaultHide = 30

// sqsActions returns SQS's operations.
func (e *Emulator) sqsActions() map[string]handler {
	return map[string]handler{
		"CreateQueue":             e.createQueue,
		"DeleteQueue":             e.deleteQueue,
		"GetQueueUrl":             e.getQueueURL,
		"GetQueueAttributes":      e.getQueueAttributes,
		"PurgeQueue":              e.purgeQueue,
		"SendMessage":             e.sendMessage,
		"SendMessageBatch":        e.sendMessageBatch,
		"ReceiveMessage":          e.receiveMessage,
		"DeleteMessage":           e.deleteMessage,
		"DeleteMessageBatch":      e.deleteMessageBatch,
		"ChangeMessageVisibility": e.changeMessageVisibility,
	}
}

// A queueRequest has the parameters of all queue operations.
type queueRequest struct {
	QueueName, QueueUrl, MessageBody, ReceiptHandle string //nolint:revive // as on the wire
	MaxNumberOfMessages, WaitTimeSeconds            int
	VisibilityTimeout                               *int
	Entries                                         []queueEntry
}

// A queueEntry is one entry of a batch.
type queueEntry struct {
	ID            string `json:"Id"`
	MessageBody   string
	ReceiptHandle string
}

// queueOf decodes a request about a queue and returns the queue's name. It returns an error if the queue does not exist.
func (e *Emulator) queueOf(r *request) (in queueRequest, name string, failure *wire.Error) {
	if failure := r.decode(&in); failure != nil {
		return in, "", failure
	}
	name = in.QueueName
	if name == "" {
		name = lastSegment(in.QueueUrl)
	}
	if !e.queues.exists(name) {
		return in, name, wire.Errorf("QueueDoesNotExist", "The specified queue does not exist.")
	}
	return in, name, nil
}

// queueURL returns the URL of a queue, with the host that the client called.
func (e *Emulator) queueURL(r *request, name string) map[string]string {
	return map[string]string{"QueueUrl": fmt.Sprintf("http://%s/%s/%s", r.http.Host, e.world.Account(), name)}
}

func (e *Emulator) createQueue(r *request) (any, *wire.Error) {
	var in queueRequest
	if failure := r.decode(&in); failure != nil {
		return nil, failure
	}
	e.queues.create(in.QueueName)
	return e.queueURL(r, in.QueueName), nil
}

func (e *Emulator) deleteQueue(r *request) (any, *wire.Error) {
	_, name, failure := e.queueOf(r)
	if failure == nil {
		e.queues.remove(name)
	}
	return nil, failure
}

func (e *Emulator) getQueueURL(r *request) (any, *wire.Error) {
	_, name, failure := e.queueOf(r)
	if failure != nil {
		return nil, failure
	}
	return e.queueURL(r, name), nil
}

func (e *Emulator) getQueueAttributes(r *request) (any, *wire.Error) {
	_, name, failure := e.queueOf(r)
	if failure != nil {
		return nil, failure
	}
	visible, hidden := e.queues.remaining(name)
	return map[string]map[string]string{"Attributes": {
		"ApproximateNumberOfMessages":           strconv.Itoa(visible),
		"ApproximateNumberOfMessagesNotVisible": strconv.Itoa(hidden),
		"MessageRetentionPeriod":                strconv.Itoa(int(retention.Seconds())),
		"VisibilityTimeout":                     strconv.Itoa(defaultHide),
		"QueueArn":                              fmt.Sprintf("arn:%s:sqs:%s:%s:%s", e.world.Partition(), e.world.Region(), e.world.Account(), name),
	}}, nil
}

func (e *Emulator) purgeQueue(r *request) (any, *wire.Error) {
	_, name, failure := e.queueOf(r)
	if failure == nil {
		e.queues.purge(name)
	}
	return nil, failure
}

type sentJSON struct {
	ID        string `json:"Id,omitempty"`
	MessageID string `json:"MessageId"`
	Sum       string `json:"MD5OfMessageBody"`
}

func (e *Emulator) sendMessage(r *request) (any, *wire.Error) {
	in, name, failure := e.queueOf(r)
	if failure != nil {
		return nil, failure
	}
	id, _ := e.queues.send(name, in.MessageBody)
	return sentJSON{MessageID: id, Sum: sumOf(in.MessageBody)}, nil
}

// batchJSON is the response to a batch, with the successful and the failed entries.
type batchJSON struct {
	Successful []sentJSON   `json:"Successful"`
	Failed     []failedJSON `json:"Failed"`
}

type failedJSON struct {
	ID     string `json:"Id"`
	Code   string `json:"Code"`
	Sender bool   `json:"SenderFault"`
}

func (e *Emulator) sendMessageBatch(r *request) (any, *wire.Error) {
	in, name, failure := e.queueOf(r)
	if failure != nil {
		return nil, failure
	}
	out := batchJSON{Successful: []sentJSON{}, Failed: []failedJSON{}}
	for _, entry := range in.Entries {
		id, _ := e.queues.send(name, entry.MessageBody)
		out.Successful = append(out.Successful, sentJSON{entry.ID, id, sumOf(entry.MessageBody)})
	}
	return out, nil
}

type receivedJSON struct {
	MessageID  string            `json:"MessageId"`
	Receipt    string            `json:"ReceiptHandle"`
	Body       string            `json:"Body"`
	Sum        string            `json:"MD5OfBody"`
	Attributes map[string]string `json:"Attributes"`
}

// receiveMessage receives messages. It waits for the first one for at most WaitTimeSeconds.
func (e *Emulator) receiveMessage(r *request) (any, *wire.Error) {
	in, name, failure := e.queueOf(r)
	if failure != nil {
		return nil, failure
	}
	if in.MaxNumberOfMessages == 0 {
		in.MaxNumberOfMessages = 1
	}
	if in.MaxNumberOfMessages < 1 || in.MaxNumberOfMessages > 10 {
		return nil, wire.Errorf("InvalidParameterValue",
			"Value %d for parameter MaxNumberOfMessages is invalid. Reason: Must be between 1 and 10, if provided.", in.MaxNumberOfMessages)
	}
	hide := defaultHide
	if in.VisibilityTimeout != nil {
		hide = *in.VisibilityTimeout
	}
	deadline := e.cfg.Clock.NewTimer(secondsOf(in.WaitTimeSeconds))
	defer deadline.Stop()
	for waiting := in.WaitTimeSeconds > 0; ; {
		e.world.Settle() // due events may send messages to the queue
		messages, arrived, ok := e.queues.receive(name, in.MaxNumberOfMessages, secondsOf(hide))
		if !ok {
			return nil, wire.Errorf("QueueDoesNotExist", "The specified queue does not exist.")
		}
		if len(messages) > 0 || !waiting {
			return receivedOf(messages), nil
		}
		select {
		case <-arrived:
		case <-deadline.C():
			waiting = false
		case <-r.http.Context().Done():
			waiting = false
		}
	}
}

// receivedOf encodes messages. If there are none, the list is omitted.
func receivedOf(messages []message) any {
	out := struct {
		Messages []receivedJSON `json:"Messages,omitempty"`
	}{}
	for _, m := range messages {
		out.Messages = append(out.Messages, receivedJSON{m.id, m.receipt, m.body, sumOf(m.body), map[string]string{
			"SentTimestamp":           strconv.FormatInt(m.sent.UnixMilli(), 10),
			"ApproximateReceiveCount": strconv.Itoa(m.received),
		}})
	}
	return out
}

// deleteMessage removes a message. As in SQS, an expired receipt handle is no error.
func (e *Emulator) deleteMessage(r *request) (any, *wire.Error) {
	in, name, failure := e.queueOf(r)
	if failure != nil {
		return nil, failure
	}
	if in.ReceiptHandle == "" {
		return nil, wire.Errorf("ReceiptHandleIsInvalid", "The input receipt handle is invalid.")
	}
	e.queues.change(name, in.ReceiptHandle, func(*message) bool { return false })
	return nil, nil
}

func (e *Emulator) deleteMessageBatch(r *request) (any, *wire.Error) {
	in, name, failure := e.queueOf(r)
	if failure != nil {
		return nil, failure
	}
	out := batchJSON{Successful: []sentJSON{}, Failed: []failedJSON{}}
	for _, entry := range in.Entries {
		if entry.ReceiptHandle == "" {
			out.Failed = append(out.Failed, failedJSON{entry.ID, "ReceiptHandleIsInvalid", true})
			continue
		}
		e.queues.change(name, entry.ReceiptHandle, func(*message) bool { return false })
		out.Successful = append(out.Successful, sentJSON{ID: entry.ID})
	}
	return out, nil
}

func (e *Emulator) changeMessageVisibility(r *request) (any, *wire.Error) {
	in, name, failure := e.queueOf(r)
	if failure != nil {
		return nil, failure
	}
	hide := time.Duration(0)
	if in.VisibilityTimeout != nil {
		hide = secondsOf(*in.VisibilityTimeout)
	}
	found := e.queues.change(name, in.ReceiptHandle, func(m *message) bool {
		m.visible = e.cfg.Clock.Now().Add(hide)
		return true
	})
	if !found {
		return nil, wire.Errorf("ReceiptHandleIsInvalid", "The input receipt handle is invalid.")
	}
	return nil, nil
}
