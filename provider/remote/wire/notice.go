package wire

import (
	"github.com/karpenter-go/karpenter/cloud"
	cloudv1 "github.com/karpenter-go/karpenter/cloud/proto/karpenter/cloud/v1"
	"github.com/karpenter-go/karpenter/engine/model"
)

// notices are the kinds of notices on the wire.
var notices = map[cloudv1.NoticeKind]cloud.NoticeKind{
	cloudv1.NoticeKind_NOTICE_KIND_SPOT_INTERRUPTED:      model.NoticeSpotInterrupted,
	cloudv1.NoticeKind_NOTICE_KIND_REBALANCE_RECOMMENDED: model.NoticeRebalance,
	cloudv1.NoticeKind_NOTICE_KIND_SCHEDULED_CHANGE:      model.NoticeScheduledChange,
	cloudv1.NoticeKind_NOTICE_KIND_INSTANCE_STOPPED:      model.NoticeInstanceStopped,
	cloudv1.NoticeKind_NOTICE_KIND_INSTANCE_TERMINATED:   model.NoticeInstanceTerminated,
	cloudv1.NoticeKind_NOTICE_KIND_RESERVATION_RECLAIMED: model.NoticeReservationReclaimed,
	cloudv1.NoticeKind_NOTICE_KIND_RESERVATION_EXPIRED:   model.NoticeReservationExpired,
	cloudv1.NoticeKind_NOTICE_KIND_INSTANCE_FAILED:       model.NoticeInstanceFailed,
	cloudv1.NoticeKind_NOTICE_KIND_HOST_FAILED:           model.NoticeHostFailed,
	cloudv1.NoticeKind_NOTICE_KIND_EVENT_PENDING:         model.NoticeEventPending,
}

// ReadNotice reads a notice about an instance or a node.
func ReadNotice(m *cloudv1.Notice) (cloud.Notice, error) {
	kind, known := notices[m.GetKind()]
	switch {
	case !known:
		return cloud.Notice{}, Reject(InvalidName, "notice kind %d is unknown", m.GetKind())
	case (m.GetInstance() == "") == (m.GetNodeName() == ""):
		return cloud.Notice{}, Reject(Missing, "a notice names either an instance or a node")
	case len(m.GetInstance()) > maxProviderID || len(m.GetNodeName()) > maxProviderID:
		return cloud.Notice{}, Reject(InvalidName, "a notice has a long name")
	}
	return cloud.Notice{
		Kind: kind, Instance: m.GetInstance(), Node: m.GetNodeName(), Time: timeOf(m.GetTime()), Act: m.GetAct(),
		Message: Text(m.GetMessage()),
	}, nil
}

// WriteNotice is the inverse of ReadNotice.
func WriteNotice(n cloud.Notice) *cloudv1.Notice {
	m := &cloudv1.Notice{Instance: n.Instance, NodeName: n.Node, Time: stamp(n.Time), Act: n.Act, Message: n.Message}
	for kind, name := range notices {
		if name == n.Kind {
			m.Kind = kind
		}
	}
	return m
}
