export function WhatIfView() { return <div />; }
