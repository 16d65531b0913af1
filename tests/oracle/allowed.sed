# SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
# allowed: differences between plain TCP and the library that are meant, as sed
# commands that make both logs equal. Each says why. They are about what the
# kernel chooses; what the library shows otherwise than TCP is in the table
# DIFFERENCES FROM TCP of smc_r(7), and has no command here.
# The kernel may give a client a port that the script saw before.
s/^(.* (accept|names) .* port:)p[0-9]+/\1p/
# An accept that slept may give any such port, too.
s/^(.[0-9]= = 0 .* port:)p[0-9]+/\1p/
# The port of a listener that is gone may go to the next one.
s/^(.* names .* port:l)[0-9]+/\1/
