package v1

// Conditions of an EC2NodeClass. Ready is True if all the others are.
const (
	ConditionTypeReady                     = "Ready"
	ConditionTypeAMIsReady                 = "AMIsReady"
	ConditionTypeSubnetsReady              = "SubnetsReady"
	ConditionTypeSecurityGroupsReady       = "SecurityGroupsReady"
	ConditionTypeInstanceProfileReady      = "InstanceProfileReady"
	ConditionTypePlacementGroupReady       = "PlacementGroupReady"
	ConditionTypeCapacityReservationsReady = "CapacityReservationsReady"
	ConditionTypeValidationSucceeded       = "ValidationSucceeded"
)

// Reasons of conditions.
const (
	ReasonAMINotFound                    = "AMINotFound"
	ReasonUnsupportedAlias               = "UnsupportedAlias"
	ReasonSubnetsNotFound                = "SubnetsNotFound"
	ReasonSecurityGroupsNotFound         = "SecurityGroupsNotFound"
	ReasonPlacementGroupResolutionFailed = "PlacementGroupResolutionFailed"
	ReasonPlacementGroupNotFound         = "PlacementGroupNotFound"
	// ReasonNotResolved is the reason of any condition that is Unknown because a
	// call of AWS has failed, or has given no result yet. The message has the error.
	ReasonNotResolved = "NotResolved"
	// ReasonRoleNotFound is the reason of InstanceProfileReady if the role in
	// spec.role does not exist.
	ReasonRoleNotFound = "RoleNotFound"
	// ReasonInvalidUserData is the reason of ValidationSucceeded if spec.userData
	// does not have the format of the AMI family.
	ReasonInvalidUserData = "InvalidUserData"
	// ReasonReservationsNotListed is the reason of CapacityReservationsReady=True
	// while the call that lists capacity reservations fails. The reservations that
	// were listed last are used.
	ReasonReservationsNotListed = "ReservationsNotListed"
	// ReasonReservedCapacityDisabled is the reason of CapacityReservationsReady=True
	// while the feature gate ReservedCapacity is off, so no reservations are read.
	ReasonReservedCapacityDisabled = "ReservedCapacityDisabled"
)

// Reasons of ValidationSucceeded if it is not True.
const (
	ReasonClusterCIDRResolutionFailed         = "ClusterCIDRResolutionFailed"
	ReasonInvalidKubeletConfiguration         = "InvalidKubeletConfiguration"
	ReasonKubeletExpressionsDisabled          = "KubeletExpressionsDisabled"
	ReasonKubeletExpressionInvalid            = "KubeletExpressionInvalid"
	ReasonUnsupportedKubeletConfiguration     = "UnsupportedKubeletConfiguration"
	ReasonDependenciesNotReady                = "DependenciesNotReady"
	ReasonKubeletExpressionEvaluationFailed   = "KubeletExpressionEvaluationFailed"
	ReasonTagValidationFailed                 = "TagValidationFailed"
	ReasonCreateLaunchTemplateAuthCheckFailed = "CreateLaunchTemplateAuthCheckFailed"
	ReasonUserDataSizeLimitExceeded           = "UserDataSizeLimitExceeded"
	ReasonCreateFleetAuthCheckFailed          = "CreateFleetAuthCheckFailed"
	ReasonRunInstancesAuthCheckFailed         = "RunInstancesAuthCheckFailed"
	ReasonInstanceProfileNotFound             = "InstanceProfileNotFound"
)
