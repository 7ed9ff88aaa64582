package v1

// Conditions of an EC2NodeClass. Ready sums up all the others.
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

// Reasons why something was not resolved.
const (
	ReasonAMINotFound                    = "AMINotFound"
	ReasonUnsupportedAlias               = "UnsupportedAlias"
	ReasonSubnetsNotFound                = "SubnetsNotFound"
	ReasonSecurityGroupsNotFound         = "SecurityGroupsNotFound"
	ReasonPlacementGroupResolutionFailed = "PlacementGroupResolutionFailed"
	ReasonPlacementGroupNotFound         = "PlacementGroupNotFound"
	// ReasonNotResolved: of any condition that is Unknown: AWS has not answered
	// yet, or with an error of unknown meaning. The message quotes it.
	ReasonNotResolved = "NotResolved"
	// ReasonRoleNotFound: of InstanceProfileReady: spec.role names no role.
	ReasonRoleNotFound = "RoleNotFound"
	// ReasonInvalidUserData: of ValidationSucceeded: spec.userData cannot be
	// read in the form that the family of the image takes.
	ReasonInvalidUserData = "InvalidUserData"
	// ReasonReservationsNotListed: of CapacityReservationsReady, True: EC2 does
	// not list capacity reservations now. Those known are used, or none.
	ReasonReservationsNotListed = "ReservationsNotListed"
	// ReasonReservedCapacityDisabled: of CapacityReservationsReady, True: the
	// feature is off, so there is nothing to resolve.
	ReasonReservedCapacityDisabled = "ReservedCapacityDisabled"
)

// Reasons of ValidationSucceeded that is not True.
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
